// Samples of records, from the probes and the IOC's memory. Plain data.
// iocs/samples.h says what holds of all counters and times.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exposition/histogram_slots.h"
#include "iocs/samples.h"
#include "shared/record_process.h"
#include "shared/record_puts.h"

namespace ioc_exporter {

inline constexpr std::size_t kSeverities = 4;  // menuAlarmSevr: NO_ALARM, MINOR, MAJOR, INVALID

// Of one IOC, since the exporter first saw its records.
struct ProcessingSample {
  std::map<std::string, std::uint64_t> causes;   // processings by "scan_0.1", "ca", "link", ...
  std::map<std::string, std::uint64_t> threads;  // those that no other record has caused
  std::uint64_t timed = 0;                       // processings whose duration was measured
  std::array<std::uint64_t, kSeverities>
      transitions{};  // changes of a record's SEVR, by the new one
};

// Of one record, with --records.causes.
struct RecordCauseSample {
  std::uint32_t record = 0;  // index into the database's records; UINT32_MAX: name not known
  std::string cause;
  std::uint64_t count = 0;
};

// Passes through a periodic scan list.
struct ScanTimeSample {
  std::string period;  // as the scan thread's name has it: "0.1"
  double period_seconds = 0;
  double last_time_seconds = 0;  // time of day when the last pass ended; 0 = none has
  double age_seconds = 0;        // since then
  std::uint64_t sum_ns = 0;
  std::array<std::uint64_t, kPutHistogramSlots> buckets{};  // not cumulative
};

// Completions of an asynchronous record, from the start of dbProcess.
struct CompletionSample {
  std::uint32_t record = UINT32_MAX;  // index into the database's records; UINT32_MAX: not known
  std::uint64_t sum_ns = 0;
  std::array<std::uint64_t, kPutHistogramSlots> buckets{};  // not cumulative
};

// Of one IOC whose records are to be counted.
struct OverheadSample {
  double core_share = 0;                // fraction of one core that the record probes cost the IOC
  double timed_share = 1;               // fraction of its calls that is timed
  std::optional<double> over_budget{};  // its records are not counted, for this would cost so much
  bool attached = true;                 // the probes are there
  bool has_extras = true;               // those on functions that no processing is counted at, too
  // Whether the IOC works and its probes see nothing; nothing: they are not there, or not known.
  std::optional<bool> nothing_counted = {};
};

inline constexpr std::size_t kPutSources = IOCX_PUT_SOURCES;
using PutCounts = std::array<std::uint64_t, kPutSources>;  // by enum iocx_put_source

struct RecordSample {
  static constexpr std::uint32_t kUnknown = UINT32_MAX;
  std::uint32_t record = kUnknown;  // index into the database's records; kUnknown: name not known
  std::uint64_t processed = 0;
  std::uint64_t sum_ns = 0;  // of those in the buckets
  std::uint64_t self_ns = 0;
  std::uint64_t skipped_active = 0;
  std::uint64_t skipped_disabled = 0;
  std::uint64_t unwound = 0;  // calls that an exception, or the end of its thread, has left
  std::array<std::uint64_t, kHistogramSlots> buckets{};  // not cumulative
  PutCounts puts{};                                      // writes to its fields
};

// An IOC with its records.
struct IocSample : IocFacts {
  bool records_watched = false;   // are its records counted now?
  bool no_record_counts = false;  // its counts are not known, and have no series
  // Since when all writes to its records are counted, in seconds since 1970; nothing: they are not.
  std::optional<double> writes_since_seconds = {};
  std::vector<RecordSample> records;              // in any order
  std::shared_ptr<const IocMemorySample> memory;  // null while nothing of it was read
  std::optional<OverheadSample> overhead = {};    // of the record probes
  std::vector<ScanTimeSample> scan_times = {};
  std::vector<CompletionSample> completions = {};
  std::optional<ProcessingSample> processing = {};  // while its records are counted
  // Without those probes what they count is absent.
  bool has_extras() const { return !overhead || overhead->has_extras; }
  std::vector<RecordCauseSample> record_causes = {};  // with --records.causes
  // Since when processings that do not come through dbProcess are counted, in seconds since 1970;
  // nothing: they are not, or only now and then.
  std::optional<double> direct_since_seconds = {};
};

}  // namespace ioc_exporter

namespace ioc_exporter::records {

// From what the kernel counted by address to samples by record.

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
