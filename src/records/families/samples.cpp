#include "records/families/samples.h"

#include <algorithm>
#include <cstring>

#include "base/byte_buffer.h"

namespace ioc_exporter::records {
namespace {

void fill(RecordSample& sample, const iocx_record_stats& stats) {
  sample.processed = stats.processed;
  sample.sum_ns = stats.sum_ns;
  sample.self_ns = stats.self_ns;
  sample.skipped_active = stats.skipped_active;
  sample.skipped_disabled = stats.skipped_disabled;
  sample.unwound = stats.unwound;
  static_assert(sizeof sample.buckets == sizeof stats.buckets &&
                sizeof sample.puts == sizeof stats.puts);
  std::memcpy(sample.buckets.data(), stats.buckets, sizeof stats.buckets);
  std::memcpy(sample.puts.data(), stats.puts, sizeof stats.puts);
}

}  // namespace

std::uint32_t record_index(const Database& database, std::uint64_t address) {
  const auto found = std::lower_bound(
      database.records.begin(), database.records.end(), address,
      [](const auto& identity, std::uint64_t wanted) { return identity.address < wanted; });
  if (found == database.records.end() || found->address != address) return RecordSample::kUnknown;
  return static_cast<std::uint32_t>(found - database.records.begin());
}

void RecordSamples::add(std::uint64_t address, const iocx_record_stats& stats) {
  if (samples_.empty()) {
    samples_.reserve(database_.records.size());
    prefer_huge_pages(samples_.data(), samples_.capacity() * sizeof(RecordSample));
  }
  RecordSample& sample = samples_.emplace_back();
  sample.record = record_index(database_, address);
  any_unknown_ |= sample.record == RecordSample::kUnknown;
  fill(sample, stats);
}

}  // namespace ioc_exporter::records
