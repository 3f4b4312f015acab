#include "records/families/link_families.h"

#include <map>
#include <string_view>
#include <utility>

#include "records/families/label.h"

namespace ioc_exporter::records {
namespace {

constexpr exposition::Family kLinks{
    "epics_record_link_total", exposition::FamilyType::counter,
    "Times that one record (source_record) made another process through its links."};

// To sort by: the names, then whether they are groups'.
using LinkNames = std::pair<std::pair<std::string_view, std::string_view>,
                            std::pair<std::string_view, std::string_view>>;

LinkNames names_of(const IocSample& ioc, const RecordLinkSample& link) {
  const exposition::Label source = source_label(ioc, link.source),
                          record = record_label(ioc, link.record);
  return {{source.value, record.value}, {source.name, record.name}};
}

}  // namespace

void encode_links(const std::vector<const IocSample*>& iocs, exposition::Encoder& encoder) {
  encoder.begin_family(kLinks);
  for (const IocSample* ioc : iocs) {
    if (!ioc->up) continue;
    std::map<LinkNames, std::uint64_t> counts;
    for (const RecordLinkSample& link : ioc->links) counts[names_of(*ioc, link)] += link.count;
    for (const auto& [names, count] : counts) {
      const auto& [values, labels] = names;
      encoder.count(
          encoder.labels(
              {{"ioc", ioc->name}, {labels.first, values.first}, {labels.second, values.second}}),
          count);
    }
  }
}

}  // namespace ioc_exporter::records
