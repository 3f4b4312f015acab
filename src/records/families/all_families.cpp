#include "records/families/all_families.h"

#include "exposition/prometheus_family.h"
#include "iocs/families.h"
#include "records/families/cause_families.h"
#include "records/families/extra_families.h"
#include "records/families/families.h"
#include "records/families/link_families.h"
#include "records/families/memory_families.h"
#include "records/families/overhead_families.h"
#include "records/families/put_families.h"
#include "records/families/unusual_families.h"

namespace ioc_exporter::records {
namespace {

// Upper estimates of a line's length; what is missing only costs a copy.
std::size_t estimated_size(const std::vector<IocSample>& iocs, const ShownEdges& edges) {
  constexpr std::size_t kLine = 110, kLinesOfIoc = 40;
  const std::size_t lines_per_record = edges.process.ks().size() + 6;
  std::size_t lines = 0;
  for (const IocSample& ioc : iocs) {
    lines += kLinesOfIoc + ioc.records.size() * lines_per_record;
    if (ioc.database) lines += ioc.database->records.size() * 2;
  }
  return lines * kLine;
}

}  // namespace

void encode_all(const std::vector<IocSample>& iocs, const std::optional<double>& empty_probe,
                const ShownEdges& edges, LabelCache& cache, exposition::Encoder& encoder) {
  encoder.reserve(estimated_size(iocs, edges));
  cache.drop_gone();
  const auto distinct = iocs::distinct_iocs(iocs);
  encode_ioc_memory(distinct, encoder);
  encode_records(distinct, edges.process, cache, encoder);
  encode_causes(distinct, encoder);
  encode_links(distinct, encoder);
  encode_record_writes(distinct, encoder);
  encode_unusual(distinct, encoder);
  encode_completions(distinct, edges.completions, encoder);
  encode_scan_lists(distinct, edges.scans, encoder);
  exposition::encode_all(overhead_families(distinct, empty_probe), encoder);
}

}  // namespace ioc_exporter::records
