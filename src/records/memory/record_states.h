// RecordStates: SEVR and PACT of all records of an IOC, and since when the active ones are active:
// at least. A completion in between shows by TIME and by the count of processings.
//
// A record that waits for its own delays (calcout, seq), its scan (sscan) or what it stands for
// (busy) is not stuck. One whose TIME was never set, and that was not seen to process, is active
// since iocInit: device support leaves PACT set where its device, or its asyn port, does not exist.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "exposition/status_page.h"
#include "iocs/memory/database_reader.h"
#include "iocs/memory/memory.h"
#include "iocs/samples.h"
#include "records/families/samples.h"

namespace ioc_exporter::records {

class RecordStates {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMostNamed = 100;  // stuck records with their spans

  // `stuck_after`: how long a record may be active.
  RecordStates(std::shared_ptr<const Database> database, const iocs::FieldOffsets& offsets,
               std::chrono::milliseconds stuck_after);

  // Goes on with the reading of all records, or begins one, until `deadline`; sample() has the last
  // one that was finished. One that takes long sees each record once. A record that cannot be read
  // fails it, and the next call begins anew.
  Result<void> read(iocs::Memory& memory, Clock::time_point deadline);

  // How often each record was processed, up to now; after read(). Records that are not in it count
  // as never processed, which is right when nothing counts them. Sorted as in an IocSample.
  void take_counts(std::span<const RecordSample> counts, Clock::time_point now = Clock::now());

  // As of the last finished reading; none before.
  std::optional<RecordStatesSample> sample() const;

  const std::shared_ptr<const Database>& database() const { return database_; }

 private:
  struct Activity {
    std::uint64_t time = 0;              // the record's TIME, as its bytes
    std::optional<std::uint64_t> count;  // of processings, once it is known
    Clock::time_point since;
    double delay = 0;  // its own, in seconds; once it is active for too long without
  };
  using Activities = std::unordered_map<std::uint32_t, Activity>;  // by the record's index
  struct Pass {
    Clock::time_point began = Clock::now();
    std::chrono::system_clock::time_point time_of_day = std::chrono::system_clock::now();
    std::size_t next = 0;  // record to read
    std::array<std::uint64_t, 4> by_severity{};
    Activities active;
  };

  Result<std::size_t> read_some(iocs::Memory& memory);
  Result<void> note_activities(iocs::Memory& memory, std::span<const std::uint32_t> active,
                               Clock::time_point now);
  Result<double> read_delay(iocs::Memory& memory, const RecordIdentity& record) const;
  bool waits(const RecordIdentity& record, const Activity& activity, double seconds) const;

  std::shared_ptr<const Database> database_;
  iocs::FieldOffsets offsets_;
  std::uint16_t first_;  // of the bytes that hold all fields
  std::size_t size_;
  std::chrono::milliseconds stuck_after_;
  std::optional<Pass> pass_;
  Pass done_;
  bool ever_done_ = false;
};

// The page's tables of stuck records, which hang on a device that does not answer, and of those
// that wait by right. Pure.

inline constexpr std::size_t kStuckShown = 100;

exposition::StatusTable stuck_table(const std::vector<IocSample>& iocs);
exposition::StatusTable waiting_table(const std::vector<IocSample>& iocs);

}  // namespace ioc_exporter::records
