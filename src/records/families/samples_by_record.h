// From what the kernel counted by address to samples by record.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "records/families/samples.h"
#include "records/probe/process.h"

namespace ioc_exporter::records {

// One sample for each record that was counted, in the order in which they are added.
class RecordSamples {
 public:
  explicit RecordSamples(const Database& database) : database_(database) {}

  // Addresses that the database does not have become kUnknown.
  void add(std::uint64_t address, const iocx_record_stats& stats);
  bool any_unknown() const { return any_unknown_; }
  std::vector<RecordSample> take() { return std::move(samples_); }

 private:
  const Database& database_;
  std::vector<RecordSample> samples_;
  bool any_unknown_ = false;
};

// Index into the database's records; RecordSample::kUnknown: it has none at that address.
std::uint32_t record_index(const Database& database, std::uint64_t address);

}  // namespace ioc_exporter::records
