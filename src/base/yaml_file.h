// A YAML file as its one document.
#pragma once

#include <yaml-cpp/yaml.h>

#include <string>

#include "base/result.h"
#include "base/yaml_problems.h"

namespace ioc_exporter {

// At most 4 MiB. The error names action, file and cause.
Result<std::string> read_text(const std::string& path);

// Null for an empty text. What is no YAML, or more than one document, goes to `problems`.
YAML::Node parse_yaml(const std::string& text, Problems& problems);

}  // namespace ioc_exporter
