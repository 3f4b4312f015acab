#include "app/site_config.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/yaml_reader.h"
#include "functions/check.h"
#include "policy/policy_reader.h"
#include "web/tls.h"
#include "web/web_config.h"

namespace ioc_exporter::app {
namespace {

void read_group(Reader& item, std::vector<exposition::RecordGroup>& groups) {
  std::string group = item.text("group").value_or("\\1");
  if (!item.require("match")) return;
  std::optional<Pattern> match;
  item.set("match", pattern(match));
  if (!match) return;
  if (const auto usable = match->check_rewrite(group); !usable)
    return item.complain(item.has("group") ? "group" : "match",
                         "\"" + group + "\" cannot be made from \"" + match->text() +
                             "\": " + usable.error().message());
  groups.push_back({std::move(*match), std::move(group)});
}

// Keys that have no row in the option table.
void read_rest(const std::string& name, Reader& section, Options& options) {
  if (name == "records")
    section.list("groups", [&options](Reader& item) { read_group(item, options.records.groups); });
  if (name == "putlog") putlog::read_sinks(section, options.putlog.outlets, options.gone);
  if (name == "traces") traces::read_sinks(section, options.trace_outlets);
  if (name == "limits") exposition::read_limits(section, options.limits);
}

}  // namespace

Result<Options> parse_config(const std::string& text, const std::string& name, Options options) {
  const OptionTable table = option_table(options);
  const auto good = read_yaml(text, name, [&](Reader& file) {
    for (const char* section :
         {"site", "collector", "iocs", "records", "pvs", "putlog", "traces", "limits"})
      file.section(section, [&](Reader& reader) {
        table.set_from_file(section, reader);
        read_rest(section, reader, options);
      });
    table.set_from_file("", file);
    functions::read_functions(file, options.functions.described);
    functions::read_walks(file, options.functions.walks);
    options.ca.gateways = puts::read_gateways(file);
    functions::Descriptions usable = options.functions.described;
    auto problems = functions::take_out_unusable(usable);
    std::ranges::move(functions::problems_together(options.functions),
                      std::back_inserter(problems));
    for (const functions::ListProblem& problem : problems)
      file.complain(problem.key, problem.index, problem.line);
    file.section("policy", [&options](Reader& section) {
      options.policy = std::make_shared<const policy::PolicyText>(policy::read_policy(section));
      for (const policy::RuleText& rule : options.policy->rules)
        if (rule.had_times)
          options.gone.push_back("policy rule \"" + rule.name +
                                 "\": times has no effect any more, the rule holds at all times: "
                                 "use Alertmanager's time_intervals");
    });
  });
  if (!good) return good.error();
  return options;
}

Result<Options> read_config(const std::string& path, Options options) {
  const auto text = read_text(path);
  return text ? parse_config(*text, path, std::move(options)) : text.error();
}

ConfigCheck check_config(const Options& options) {
  ConfigCheck checked{"", true};
  const auto note = [&checked](const std::string& file, const Error* error) {
    checked.text += (error != nullptr ? error->message() : file + ": valid") + "\n";
    checked.valid = checked.valid && error == nullptr;
  };
  if (!options.config_file.empty()) {
    const auto config = read_config(options.config_file);
    note(options.config_file, config ? nullptr : &config.error());
  }
  // Problems that only the settings as a whole show.
  if (checked.valid) {
    const auto site = site_config(options);
    if (!site) note("", &site.error());
    for (const std::string& line : site ? site->options.gone : options.gone)
      checked.text += "warning: " + line + "\n";
  }
  if (!options.web.config_file.empty()) {
    const auto web = web::read_web_config(options.web.config_file);
    Result<void> usable = web ? Result<void>() : web.error();
    if (web && web->tls)
      if (const auto tls = web::Tls::load(*web->tls); !tls) usable = tls.error();
    note(options.web.config_file, usable ? nullptr : &usable.error());
    if (web)
      for (const std::string& line : web->gone) checked.text += "warning: " + line + "\n";
  }
  return checked;
}

Result<SiteSettings> site_config(const Options& options) {
  SiteSettings site{options};
  if (!options.config_file.empty()) {
    auto read = read_config(options.config_file, options);
    if (!read) return std::move(read).error();
    site.options = std::move(*read);
    if (auto set = option_table(site.options).set_from_flags(options.flags); !set)
      return set.error();
  }
  if (const auto& policy = site.options.policy)
    site.policy = std::make_shared<const policy::Policy>(*policy);
  auto expected = iocs::read_expected(site.options.iocs.expected);
  if (!expected) return std::move(expected).error();
  site.expected_iocs = std::move(*expected);
  return site;
}

exposition::BoundsOptions bounds_options(const Options& options) {
  exposition::BoundsOptions bounds;
  bounds.records = options.records.shown;
  bounds.groups = options.records.groups;
  bounds.pvs = options.ca.pvs;
  bounds.set = options.series;
  bounds.edge_step = options.histogram_factor;
  bounds.limits = options.limits;
  return bounds;
}

}  // namespace ioc_exporter::app
