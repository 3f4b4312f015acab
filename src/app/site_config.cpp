#include "app/site_config.h"

#include <array>
#include <utility>

#include "app/policy_file.h"
#include "web/web_config.h"

namespace ioc_exporter::app {
namespace {

template <class Value>
void overrule(std::optional<Value>& value, const std::optional<Value>& by) {
  if (by) value = by;
}

void set(exposition::SeriesLimit& limit, const Limit& by) {
  limit.series = by.series.value_or(limit.series);
  limit.per_ioc = by.per_ioc.value_or(limit.per_ioc);
  limit.per_client = by.per_client.value_or(limit.per_client);
}

std::string text_of(const std::optional<Pattern>& pattern) {
  return pattern ? pattern->text() : std::string();
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
  if (!options.web.config_file.empty()) {
    const auto web = web::read_web_config(options.web.config_file);
    note(options.web.config_file, web ? nullptr : &web.error());
  }
  return checked;
}

Result<Site> site_config(const Options& options) {
  Site config;
  if (!options.config_file.empty()) {
    std::optional<policy::PolicyText> policy;
    auto read = read_config(options.config_file, policy_section(policy));
    if (!read) return std::move(read).error();
    static_cast<Config&>(config) = std::move(*read);
    if (policy) config.policy = std::make_shared<const policy::Policy>(std::move(*policy));
  }
  overrule(config.records.include, options.records_shown.include);
  overrule(config.records.exclude, options.records_shown.exclude);
  overrule(config.pvs.include, options.pvs_shown.include);
  overrule(config.pvs.exclude, options.pvs_shown.exclude);
  overrule(config.put_expiry, options.put_expiry);
  for (std::size_t i = 0; i < config.limits.size(); ++i) {
    overrule(config.limits[i].series, options.limits[i].series);
    overrule(config.limits[i].per_ioc, options.limits[i].per_ioc);
    overrule(config.limits[i].per_client, options.limits[i].per_client);
  }
  return config;
}

exposition::BoundsOptions bounds_options(const Config& config) {
  exposition::BoundsOptions options;
  options.records = config.records;
  options.pvs = config.pvs;
  for (const RecordGroup& group : config.groups)
    options.groups.push_back({group.match, group.group});
  // In the order of kLimitKinds.
  const std::array<exposition::SeriesLimit*, kLimitKindCount> limits = {
      &options.record_limit,   &options.put_limit,    &options.failure_limit,
      &options.duration_limit, &options.pv_limit,     &options.client_limit,
      &options.search_limit,   &options.beacon_limit, &options.unexpected_limit};
  for (std::size_t i = 0; i < limits.size(); ++i) set(*limits[i], config.limits[i]);
  return options;
}

void use_at_start(const Config& config, Options& options) {
  if (!options.filter_given) {
    // The expressions compiled when the file was read.
    auto filter =
        iocs::IocFilter::create(text_of(config.iocs.include), text_of(config.iocs.exclude));
    if (filter) options.iocs.filter = *filter;
  }
  if (options.name_sources_given || config.iocs.name_sources.empty()) return;
  auto sources = iocs::parse_name_sources(config.iocs.name_sources);
  if (sources) options.iocs.name_sources = *sources;
}

}  // namespace ioc_exporter::app
