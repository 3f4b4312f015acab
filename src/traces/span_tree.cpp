#include "traces/span_tree.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <unordered_map>
#include <utility>

namespace ioc_exporter::traces {
namespace {

// menuAlarmSevr.dbd and menuAlarmStat.dbd, the same from 3.14 to 7.0.
constexpr std::array kSeverities{"", "MINOR", "MAJOR", "INVALID"};
constexpr std::array kStatuses{
    "",        "READ", "WRITE",   "HIHI",    "HIGH",        "LOLO",        "LOW",  "STATE",
    "COS",     "COMM", "TIMEOUT", "HWLIMIT", "CALC",        "SCAN",        "LINK", "SOFT",
    "BAD_SUB", "UDF",  "DISABLE", "SIMM",    "READ_ACCESS", "WRITE_ACCESS"};

}  // namespace

const char* severity_name(unsigned severity) {
  return severity < kSeverities.size() ? kSeverities[severity] : "";
}

const char* status_name(unsigned status) {
  return status < kStatuses.size() ? kStatuses[status] : "";
}

bool order_spans(std::vector<Span>& spans) {
  if (spans.empty()) return false;
  // A stable order of spans that start at the same moment: as they were numbered.
  std::ranges::stable_sort(spans, {}, &Span::start);
  std::unordered_map<SpanId, std::size_t> places;
  for (std::size_t i = 0; i < spans.size(); ++i) places.emplace(spans[i].id, i);
  const auto has_parent = [&](const Span& span) {
    return span.parent != 0 && span.parent != span.id && places.contains(span.parent);
  };
  std::size_t root = 0;
  for (std::size_t i = 0; i < spans.size(); ++i)
    if (!has_parent(spans[i])) {
      root = i;
      break;
    }
  bool any_orphan = spans[root].parent != 0;
  spans[root].parent = 0;
  std::vector<std::vector<std::size_t>> children(spans.size());
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (i == root) continue;
    if (!has_parent(spans[i])) {
      spans[i].parent = spans[root].id;
      any_orphan = true;
    }
    children[places.at(spans[i].parent)].push_back(i);
  }
  std::vector<Span> ordered;
  ordered.reserve(spans.size());
  std::vector<std::size_t> left{root};
  while (!left.empty()) {
    const std::size_t next = left.back();
    left.pop_back();
    ordered.push_back(std::move(spans[next]));
    left.insert(left.end(), children[next].rbegin(), children[next].rend());
  }
  spans = std::move(ordered);
  return any_orphan;
}

}  // namespace ioc_exporter::traces
