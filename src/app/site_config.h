// The site's configuration file together with the flags, which stand above it.
#pragma once

#include <memory>
#include <string>

#include "app/options.h"
#include "app/config.h"
#include "exposition/bounds_options.h"
#include "policy/policy.h"
#include "base/result.h"

namespace ioc_exporter::app {

// What --config.check prints and ends with.
struct ConfigCheck {
  std::string text;
  bool valid = false;
};
ConfigCheck check_config(const Options& options);

struct Site : Config {
  std::shared_ptr<const policy::Policy> policy;  // null: there is none
};

// The configuration that is to be used: the file's (when there is one) with what the flags say.
Result<Site> site_config(const Options& options);

// What bounds the series, with the defaults for what nobody said.
exposition::BoundsOptions bounds_options(const Config& config);

// Takes over what is used at the start only: the section `iocs`.
void use_at_start(const Config& config, Options& options);

}  // namespace ioc_exporter::app
