// What the probes and an IOC's own memory say of its records, as the metrics need it. Plain data.
// iocs/samples.h says what holds of all counters and times.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "exposition/histogram_slots.h"
#include "iocs/memory/memory_samples.h"
#include "iocs/samples.h"
#include "records/families/cause_samples.h"
#include "records/families/extra_samples.h"
#include "records/families/link_samples.h"
#include "records/families/overhead_samples.h"
#include "records/families/put_samples.h"
#include "records/families/unusual_samples.h"

namespace ioc_exporter {

struct RecordSample {
  static constexpr std::uint32_t kUnknown = UINT32_MAX;
  std::uint32_t record = kUnknown;  // index into the database's records; kUnknown: name not known
  std::uint64_t processed = 0;
  std::uint64_t sum_ns = 0;  // of those in the buckets
  std::uint64_t self_ns = 0;
  std::uint64_t skipped_active = 0;
  std::uint64_t skipped_disabled = 0;
  std::array<std::uint64_t, kHistogramSlots> buckets{};  // not cumulative
  PutCounts puts{};                                      // writes to its fields
};

// An IOC with its records.
struct IocSample : IocFacts {
  bool records_watched = false;                   // are its records counted now?
  bool no_record_counts = false;                  // what they did is not known: it has no series
  std::vector<RecordSample> records;              // in any order
  std::shared_ptr<const IocMemorySample> memory;  // null while nothing of it was read
  std::optional<OverheadSample> overhead = {};    // of the record probes
  std::optional<UnusualSample> unusual = {};      // while its records are counted
  std::vector<RecordLinkSample> links = {};       // with --records.links
  std::vector<ScanTimeSample> scan_times = {};
  std::vector<CompletionSample> completions = {};
  std::optional<ProcessingSample> processing = {};    // while its records are counted
  std::vector<RecordCauseSample> record_causes = {};  // with --records.causes
};

}  // namespace ioc_exporter
