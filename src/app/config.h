// The site's YAML file, read and checked as a whole. docs/configuration.md is its reference.
#pragma once

#include <functional>
#include <string>

#include "app/options.h"
#include "base/result.h"

namespace ioc_exporter {
class Reader;
}

namespace ioc_exporter::app {

// Reads the section `policy`, which this layer does not know.
using SectionReader = std::function<void(Reader&)>;

// `options` with what the file says. The error holds all problems of the file, a line each:
// "FILE:LINE:COLUMN: limits.puts: ...". An empty file is a valid one. Without `read_policy` the
// content of `policy` is not looked at.
Result<Options> read_config(const std::string& path, const SectionReader& read_policy = {},
                            Options options = {});

// The same from a text; `name` stands for the file in errors.
Result<Options> parse_config(const std::string& text, const std::string& name,
                             const SectionReader& read_policy = {}, Options options = {});

}  // namespace ioc_exporter::app
