#include "web/quality.h"

#include <algorithm>
#include <charconv>

#include "base/ascii.h"

namespace ioc_exporter::web {

std::string_view next_part(std::string_view& rest, char separator) {
  std::size_t end = 0;
  for (bool quoted = false; end < rest.size() && (quoted || rest[end] != separator); ++end)
    if (rest[end] == '"') quoted = !quoted;
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return trimmed(part);
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::optional<std::string_view> parameter(std::string_view parameters, std::string_view name) {
  while (!parameters.empty()) {
    std::string_view value = next_part(parameters, ';');
    if (!equal_ignoring_case(next_part(value, '='), name)) continue;
    value = trimmed(value);
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    return value;
  }
  return {};
}

double quality(std::string_view parameters) {
  const auto text = parameter(parameters, "q");
  if (!text) return 1;
  double q = 0;
  const auto [end, failure] = std::from_chars(text->data(), text->data() + text->size(), q);
  const bool number = failure == std::errc() && end == text->data() + text->size();
  return number && q >= 0 ? std::min(q, 1.0) : 0;  // NaN is not above 0
}

}  // namespace ioc_exporter::web
