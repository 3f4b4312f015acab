#include "exposition/limits.h"

#include <algorithm>

#include "base/option_table.h"
#include "base/yaml_reader.h"

namespace ioc_exporter::exposition {
namespace {

constexpr std::uint64_t kMostSeries = 10'000'000;
constexpr std::pair<const char*, std::size_t SeriesLimit::*> kBounds[] = {
    {"series", &SeriesLimit::series},
    {"per_ioc", &SeriesLimit::per_ioc},
    {"per_client", &SeriesLimit::per_client}};

std::string known_kinds() {
  std::string all;
  for (const LimitKind& kind : kLimitKinds)
    all += (all.empty() ? "" : ", ") + std::string(kind.name);
  return all;
}

}  // namespace

Result<void> set_limit(const std::string& text, SeriesLimits& limits) {
  const std::size_t equals = text.find('=');
  const std::string what = text.substr(0, equals);
  const std::size_t dot = what.find('.');
  const std::string name = what.substr(0, dot);
  const std::string bound = dot == std::string::npos ? "series" : what.substr(dot + 1);
  const auto kind = std::ranges::find(kLimitKinds, name,
                                      [](const LimitKind& k) -> std::string { return k.name; });
  if (equals == std::string::npos || kind == std::end(kLimitKinds))
    return error_in_words("\"" + text + "\" is not of the form KIND=N with KIND one of " +
                          known_kinds());
  for (const auto& [known, member] : kBounds) {
    std::size_t& limit = limits.*kind->limit.*member;
    if (bound != known || limit == SeriesLimit::kNone) continue;
    auto set = whole_number(limit, 1, kMostSeries).set(text.substr(equals + 1), true);
    return set ? set : error_in_words(shown(text) + ": " + set.error().message());
  }
  return error_in_words("\"" + what + "\": " + name + " has no such bound");
}

void read_limits(Reader& section, SeriesLimits& limits) {
  for (const LimitKind& kind : kLimitKinds)
    section.section(kind.name, [&](Reader& item) {
      for (const auto& [name, member] : kBounds)
        if (std::size_t& limit = limits.*kind.limit.*member; limit != SeriesLimit::kNone)
          item.set(name, whole_number(limit, 1, kMostSeries));
    });
}

}  // namespace ioc_exporter::exposition
