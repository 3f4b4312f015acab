#include "records/put_families.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "exposition/merged_series.h"
#include "records/label.h"

namespace ioc_exporter::records {
namespace {

constexpr exposition::Family kRecordPuts{
    "epics_record_puts_total", exposition::FamilyType::counter,
    "Writes to fields of the record inside the IOC, by what made them. Empty "
    "client: not known, or there is none."};

using Series = exposition::SeriesList<std::uint64_t>;

void add(const IocSample& ioc, std::uint32_t record, std::size_t source, std::string_view client,
         std::uint64_t count, const exposition::Encoder& encoder, Series& series) {
  series.emplace_back(encoder.labels({{"ioc", ioc.name},
                                      record_label(ioc, record),
                                      {"source", iocx_put_source_labels[source]},
                                      {"client", client}}),
                      count);
}

void add_ioc(const IocSample& ioc, const exposition::Encoder& encoder, Series& series) {
  std::map<std::pair<std::uint32_t, std::size_t>, std::uint64_t> of_clients;
  for (const RecordPutClientSample& put : ioc.put_clients) {
    of_clients[{put.record, put.source}] += put.count;
    add(ioc, put.record, put.source, put.client, put.count, encoder, series);
  }
  for (const RecordSample& sample : ioc.records)
    for (std::size_t source = 0; source < sample.puts.size(); ++source) {
      if (sample.puts[source] == 0) continue;
      std::uint64_t rest = sample.puts[source];
      if (const auto found = of_clients.find({sample.record, source}); found != of_clients.end()) {
        const std::uint64_t known = std::min(rest, found->second);
        rest -= known;
        found->second -= known;
        if (rest == 0) continue;
      }
      add(ioc, sample.record, source, "", rest, encoder, series);
    }
}

}  // namespace

void encode_record_puts(const std::vector<const IocSample*>& iocs, exposition::Encoder& encoder) {
  Series series;
  for (const IocSample* ioc : iocs)
    if (ioc->up) add_ioc(*ioc, encoder, series);
  exposition::encode_counts(kRecordPuts, std::move(series), encoder);
}

}  // namespace ioc_exporter::records
