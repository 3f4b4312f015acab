// The site's configuration file together with the flags, which stand above it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/config.h"
#include "app/options.h"
#include "base/result.h"
#include "exposition/bounds_options.h"
#include "policy/policy.h"

namespace ioc_exporter::app {

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
