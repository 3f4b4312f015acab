#include "exposition/limits.h"

#include <algorithm>

#include "base/value_text.h"
#include "base/yaml_reader.h"

namespace ioc_exporter::exposition {
namespace {

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
  const auto number = parse_whole_number(text.substr(equals + 1), 1, kMostSeries);
  if (!number) return error_in_words(shown(text) + ": " + number.error().message());
  *bound = *number;
  return {};
}

void read_limits(Reader& section, Limits& limits) {
  for (std::size_t i = 0; i < kLimitKindCount; ++i) {
    const LimitKind& kind = kLimitKinds[i];
    section.section(kind.name, [&](Reader& item) {
      Limit& limit = limits[i];
      if (auto series = item.number("series", 1, kMostSeries)) limit.series = series;
      if (kind.ioc)
        if (auto series = item.number("per_ioc", 1, kMostSeries)) limit.per_ioc = series;
      if (kind.client)
        if (auto series = item.number("per_client", 1, kMostSeries)) limit.per_client = series;
    });
  }
}

}  // namespace ioc_exporter::exposition
