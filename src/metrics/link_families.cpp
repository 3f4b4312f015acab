#include "metrics/link_families.h"

#include <map>
#include <string_view>
#include <utility>

namespace ioc_exporter::metrics {
namespace {

constexpr Family kLinks{"epics_record_link_total", FamilyType::counter,
                        "Times that one record (source) made another process through its links."};

std::string_view name_of(const IocSample& ioc, std::uint32_t record) {
  if (!ioc.database || record >= ioc.database->records.size()) return {};
  return ioc.database->records[record].name;
}

}  // namespace

void encode_links(const std::vector<const IocSample*>& iocs, Encoder& encoder) {
  encoder.begin_family(kLinks);
  for (const IocSample* ioc : iocs) {
    if (!ioc->up) continue;
    std::map<std::pair<std::string_view, std::string_view>, std::uint64_t> counts;
    for (const RecordLinkSample& link : ioc->links)
      counts[{name_of(*ioc, link.source), name_of(*ioc, link.record)}] += link.count;
    for (const auto& [names, count] : counts)
      encoder.count(
          encoder.labels({{"ioc", ioc->name}, {"source", names.first}, {"record", names.second}}),
          count);
  }
}

}  // namespace ioc_exporter::metrics
