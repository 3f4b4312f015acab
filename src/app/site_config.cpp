#include "app/site_config.h"

#include <array>
#include <utility>

#include "app/policy_file.h"
#include "web/tls.h"
#include "web/web_config.h"

namespace ioc_exporter::app {
namespace {

void set(exposition::SeriesLimit& limit, const exposition::Limit& by) {
  limit.series = by.series.value_or(limit.series);
  limit.per_ioc = by.per_ioc.value_or(limit.per_ioc);
  limit.per_client = by.per_client.value_or(limit.per_client);
}

}  // namespace

ConfigCheck check_config(const Options& options) {
  ConfigCheck checked{"", true};
  const auto note = [&checked](const std::string& file, const Error* error) {
    checked.text += (error != nullptr ? error->message() : file + ": valid") + "\n";
    checked.valid = checked.valid && error == nullptr;
  };
  if (!options.config_file.empty()) {
    const auto config = read_policy_file(options.config_file);
    note(options.config_file, config ? nullptr : &config.error());
  }
  // Problems that only the settings as a whole show.
  if (checked.valid)
    if (const auto site = site_config(options); !site) note("", &site.error());
  if (!options.web.config_file.empty()) {
    const auto web = web::read_web_config(options.web.config_file);
    Result<void> usable = web ? Result<void>() : web.error();
    if (web && web->tls)
      if (const auto tls = web::Tls::load(*web->tls); !tls) usable = tls.error();
    note(options.web.config_file, usable ? nullptr : &usable.error());
  }
  return checked;
}

Result<SiteSettings> site_config(const Options& options) {
  SiteSettings site{options};
  const auto with_expected = [&site]() -> Result<SiteSettings> {
    auto expected = iocs::read_expected(site.options.iocs.expected);
    if (!expected) return std::move(expected).error();
    site.expected_iocs = std::move(*expected);
    return std::move(site);
  };
  if (options.config_file.empty()) return with_expected();
  std::optional<policy::PolicyText> policy;
  auto read = read_config(options.config_file, policy_section(policy), options);
  if (!read) return std::move(read).error();
  site.options = std::move(*read);
  if (auto set = option_table(site.options).set_from_flags(options.flags); !set) return set.error();
  if (policy) site.policy = std::make_shared<const policy::Policy>(std::move(*policy));
  return with_expected();
}

exposition::BoundsOptions bounds_options(const Options& options) {
  exposition::BoundsOptions bounds;
  bounds.records = options.records.shown;
  bounds.groups = options.records.groups;
  bounds.pvs = options.ca.pvs;
  bounds.edge_step = options.histogram_factor;
  // In the order of kLimitKinds.
  const std::array<exposition::SeriesLimit*, exposition::kLimitKindCount> limits = {
      &bounds.record_limit,   &bounds.put_limit,    &bounds.failure_limit,
      &bounds.duration_limit, &bounds.pv_limit,     &bounds.client_limit,
      &bounds.search_limit,   &bounds.beacon_limit, &bounds.unexpected_limit};
  for (std::size_t i = 0; i < limits.size(); ++i) set(*limits[i], options.limits[i]);
  return bounds;
}

}  // namespace ioc_exporter::app
