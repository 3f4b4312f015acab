// The site's YAML file, read and checked as a whole, and the flags, which stand above it.
// docs/configuration.md is its reference.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/options.h"
#include "base/result.h"
#include "exposition/limits.h"
#include "policy/policy.h"

namespace ioc_exporter::app {

// `options` with the file's settings. The error holds all problems of the file, a line each:
// "FILE:LINE:COLUMN: limits.puts: ...". An empty file is a valid one.
Result<Options> read_config(const std::string& path, Options options = {});
// The same from a text; `name` stands for the file in errors.
Result<Options> parse_config(const std::string& text, const std::string& name,
                             Options options = {});

// Output and verdict of --config.check.
struct ConfigCheck {
  std::string text;
  bool valid = false;
};
ConfigCheck check_config(const Options& options);

struct SiteSettings {
  Options options;
  std::shared_ptr<const policy::Policy> policy = nullptr;  // null: there is none
  std::vector<std::string> expected_iocs = {};
};

// Settings in force: those of the file, if there is one, overridden by flags.
Result<SiteSettings> site_config(const Options& options);

// Limits of series, with defaults.
exposition::BoundsOptions bounds_options(const Options& options);

}  // namespace ioc_exporter::app
