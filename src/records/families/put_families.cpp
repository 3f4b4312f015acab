#include "records/families/put_families.h"

#include <string>
#include <utility>

#include "exposition/merged_series.h"
#include "records/families/label.h"

namespace ioc_exporter::records {
namespace {

constexpr exposition::Family kWrites{
    "epics_record_writes_total", exposition::FamilyType::counter,
    "Writes to fields of the record by any way, by what made them."};

using Series = exposition::SeriesList<std::uint64_t>;

void add_ioc(const IocSample& ioc, const exposition::Encoder& encoder, Series& series) {
  for (const RecordSample& sample : ioc.records)
    for (std::size_t source = 0; source < sample.puts.size(); ++source)
      if (sample.puts[source] > 0)
        series.emplace_back(encoder.labels({{"ioc", ioc.name},
                                            record_label(ioc, sample.record),
                                            {"source", iocx_put_source_labels[source]}}),
                            sample.puts[source]);
}

}  // namespace

void encode_record_writes(const std::vector<const IocSample*>& iocs, exposition::Encoder& encoder) {
  Series series;
  for (const IocSample* ioc : iocs)
    if (ioc->up) add_ioc(*ioc, encoder, series);
  exposition::encode_counts(kWrites, std::move(series), encoder);
}

}  // namespace ioc_exporter::records
