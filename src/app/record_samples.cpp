#include "app/record_samples.h"

#include <algorithm>
#include <iterator>

namespace ioc_exporter::app {
namespace {

RecordSample to_sample(const iocx_record_stats& stats, std::uint32_t record) {
  RecordSample sample;
  sample.record = record;
  sample.processed = stats.processed;
  sample.sum_ns = stats.sum_ns;
  sample.self_ns = stats.self_ns;
  sample.skipped_active = stats.skipped_active;
  sample.skipped_disabled = stats.skipped_disabled;
  std::copy(std::begin(stats.buckets), std::end(stats.buckets), sample.buckets.begin());
  std::copy(std::begin(stats.puts), std::end(stats.puts), sample.puts.begin());
  return sample;
}

}  // namespace

std::uint32_t record_index(const Database& database, std::uint64_t address) {
  const auto found = std::lower_bound(
      database.records.begin(), database.records.end(), address,
      [](const auto& identity, std::uint64_t wanted) { return identity.address < wanted; });
  if (found == database.records.end() || found->address != address) return RecordSample::kUnknown;
  return static_cast<std::uint32_t>(found - database.records.begin());
}

std::vector<RecordPutClientSample> to_put_samples(const std::vector<probes::ClientPuts>& puts,
                                                  const Database& database) {
  std::vector<RecordPutClientSample> samples;
  for (const probes::ClientPuts& put : puts)
    samples.push_back({record_index(database, put.record), put.source, put.client, put.count});
  return samples;
}

std::vector<RecordSample> to_record_samples(std::vector<probes::RawRecord> raw,
                                            const Database& database) {
  std::sort(raw.begin(), raw.end(),
            [](const auto& a, const auto& b) { return a.address < b.address; });
  std::vector<RecordSample> samples, unknown;
  samples.reserve(raw.size());
  auto known = database.records.begin();
  for (const probes::RawRecord& record : raw) {
    known = std::lower_bound(
        known, database.records.end(), record.address,
        [](const auto& identity, std::uint64_t address) { return identity.address < address; });
    if (known != database.records.end() && known->address == record.address)
      samples.push_back(
          to_sample(record.stats, static_cast<std::uint32_t>(known - database.records.begin())));
    else
      unknown.push_back(to_sample(record.stats, RecordSample::kUnknown));
  }
  samples.insert(samples.end(), unknown.begin(), unknown.end());
  return samples;
}

}  // namespace ioc_exporter::app
