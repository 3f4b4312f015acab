#include "putlog/put_query.h"

#include <utility>

#include "delivery/query_reader.h"

namespace ioc_exporter::putlog {
namespace {

// "!PATTERN": all but those.
Result<NameFilter> parse_names(const std::string& text) {
  const bool others = text.starts_with('!');
  auto pattern = delivery::parse_pattern(others ? text.substr(1) : text);
  if (!pattern) return std::move(pattern).error();
  NameFilter names;
  (others ? names.exclude : names.include) = std::move(*pattern);
  return names;
}

}  // namespace

Result<PutQuery> parse_put_query(std::string_view query,
                                 std::chrono::system_clock::time_point now) {
  PutQuery asked;
  delivery::QueryReader reader(query);
  for (const auto& [name, filter] : {std::pair{"pv", &asked.filter.pv},
                                     {"client", &asked.filter.client},
                                     {"user", &asked.filter.user},
                                     {"ioc", &asked.filter.ioc}})
    reader.read(name, *filter, parse_names);
  reader.read_yes("unexpected", asked.filter.unexpected);
  reader.read_yes("inside", asked.filter.inside);
  reader.read_yes("follow", asked.follow);
  for (const auto& [name, time] : {std::pair{"since", &asked.since}, {"until", &asked.until}})
    reader.read(name, *time,
                [now](const std::string& text) { return delivery::parse_since(text, now); });
  reader.read("limit", asked.limit, delivery::parse_limit);
  if (!reader.result()) return reader.result().error();
  if (asked.follow && asked.until) return error_in_words("follow and until do not go together");
  return asked;
}

}  // namespace ioc_exporter::putlog
