#include "app/config.h"

#include <algorithm>
#include <charconv>

#include "base/yaml_file.h"

namespace ioc_exporter::app {
namespace {

void read_iocs(Reader& section, Config& config) {
  config.iocs.include = section.pattern("include");
  config.iocs.exclude = section.pattern("exclude");
  config.iocs.name_sources = section.texts("name_sources");
  for (std::size_t i = 0; i < config.iocs.name_sources.size(); ++i) {
    const std::string& source = config.iocs.name_sources[i];
    if (source != "script" && source != "exe" && !(source.starts_with("env:") && source.size() > 4))
      section.complain("name_sources", i,
                       "\"" + source + "\" is none of env:VARIABLE, script and exe");
  }
}

void read_group(Reader& item, std::vector<RecordGroup>& groups) {
  std::string group = item.text("group").value_or("\\1");
  if (!item.require("match")) return;
  auto match = item.pattern("match");
  if (!match) return;
  if (const auto usable = match->check_rewrite(group); !usable)
    return item.complain(item.has("group") ? "group" : "match",
                         "\"" + group + "\" cannot be made from \"" + match->text() +
                             "\": " + usable.error().message());
  groups.push_back({std::move(*match), std::move(group)});
}

void read_records(Reader& section, Config& config) {
  config.records.include = section.pattern("include");
  config.records.exclude = section.pattern("exclude");
  section.list("groups", [&config](Reader& item) { read_group(item, config.groups); });
}

void read_pvs(Reader& section, Config& config) {
  config.pvs.include = section.pattern("include");
  config.pvs.exclude = section.pattern("exclude");
  config.put_expiry = section.duration("expire");
  if (config.put_expiry && *config.put_expiry < std::chrono::minutes(1))
    section.complain("expire", "must be at least 1m");
}

void read_limits(Reader& section, Config& config) {
  for (std::size_t i = 0; i < kLimitKindCount; ++i) {
    const LimitKind& kind = kLimitKinds[i];
    section.section(kind.name, [&](Reader& item) {
      Limit& limit = config.limits[i];
      limit.series = item.number("series", 1, kMostSeries);
      if (kind.ioc) limit.per_ioc = item.number("per_ioc", 1, kMostSeries);
      if (kind.client) limit.per_client = item.number("per_client", 1, kMostSeries);
    });
  }
}

// The bound that "", "per_ioc" or "per_client" means; null: this kind has no such bound.
std::optional<std::uint64_t>* bound_of(const LimitKind& kind, Limit& limit,
                                       const std::string& bound) {
  if (bound.empty()) return &limit.series;
  if (kind.ioc && bound == "per_ioc") return &limit.per_ioc;
  if (kind.client && bound == "per_client") return &limit.per_client;
  return nullptr;
}

std::string known_kinds() {
  std::string all;
  for (const LimitKind& kind : kLimitKinds)
    all += (all.empty() ? "" : ", ") + std::string(kind.name);
  return all;
}

}  // namespace

Result<void> set_limit(const std::string& text, Limits& limits) {
  const std::size_t equals = text.find('=');
  const std::string what = text.substr(0, equals);
  const std::size_t dot = what.find('.');
  const std::string name = what.substr(0, dot);
  const auto kind = std::ranges::find(kLimitKinds, name,
                                      [](const LimitKind& k) -> std::string { return k.name; });
  if (equals == std::string::npos || kind == std::end(kLimitKinds))
    return error_in_words("\"" + text + "\" is not of the form KIND=N with KIND one of " +
                          known_kinds());
  Limit& limit = limits[static_cast<std::size_t>(kind - std::begin(kLimitKinds))];
  auto* const bound = bound_of(*kind, limit, dot == std::string::npos ? "" : what.substr(dot + 1));
  if (bound == nullptr) return error_in_words("\"" + what + "\": " + name + " has no such bound");
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [after, failed] = std::from_chars(text.data() + equals + 1, end, number);
  if (failed != std::errc() || after != end || number < 1 || number > kMostSeries)
    return error_in_words("\"" + text + "\": must be 1 to " + std::to_string(kMostSeries));
  *bound = number;
  return {};
}

Result<Config> parse_config(const std::string& text, const std::string& name,
                            const SectionReader& read_policy) {
  Problems problems(name);
  Config config;
  const YAML::Node document = parse_yaml(text, problems);
  if (!problems.empty()) return problems.error();
  try {
    Reader file(document, "", problems);
    file.section("iocs", [&config](Reader& section) { read_iocs(section, config); });
    file.section("records", [&config](Reader& section) { read_records(section, config); });
    file.section("pvs", [&config](Reader& section) { read_pvs(section, config); });
    file.section("limits", [&config](Reader& section) { read_limits(section, config); });
    if (read_policy)
      file.section("policy", read_policy);
    else
      file.has("policy");
    file.finish();
  } catch (const YAML::Exception& problem) {  // what no check foresaw
    problems.add({}, std::string("no valid configuration: ") + problem.what());
  }
  if (!problems.empty()) return problems.error();
  return config;
}

Result<Config> read_config(const std::string& path, const SectionReader& read_policy) {
  const auto text = read_text(path);
  if (!text) return text.error();
  return parse_config(*text, path, read_policy);
}

}  // namespace ioc_exporter::app
