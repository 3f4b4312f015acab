// RecordLocks: threads of an IOC that have waited for a record's lock for longer than a second, and
// who holds it. Without a probe: a thread that has not run between two looks (iocs::ThreadSeen) is
// asked once for its system call. Where that waits for a mutex, the records are passed to see
// whether it is the lock of one's lock set (dbLockPvt.h; before Base 3.16, dbLock.c). What is told
// is an address that the kernel and the IOC's memory agree on. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "exposition/status_page.h"
#include "iocs/health/health.h"
#include "iocs/memory/database_reader.h"
#include "iocs/memory/memory.h"
#include "iocs/memory/process_reader.h"
#include "records/families/samples.h"

namespace ioc_exporter::records {

// Mutex that a thread waits for without a limit of time, by /proc/PID/task/TID/syscall: as
// pthread_mutex_lock() of glibc does it, with and without priority inheritance. 0: it waits for
// none. Nothing: the thread runs, or the text is not that file's.
std::optional<std::uint64_t> awaited_mutex(std::string_view system_call);

class RecordLocks {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kLongWait{1};
  static constexpr std::size_t kMostTold = 100;  // locks, by record
  static constexpr std::size_t kMostNamed = 20;  // threads that wait for one lock
  // For the system calls of one IOC's threads, at each look; so many are asked for anyway.
  static constexpr std::chrono::milliseconds kForCalls{5};
  static constexpr std::size_t kFewestCalls = 8;

  RecordLocks(std::shared_ptr<const Database> database, const iocs::FieldOffsets& offsets)
      : database_(std::move(database)), lset_(offsets.ppn + kLsetAfterPpn) {}

  // Until `deadline`; what it does not come to is looked at the next time. On an error nothing is
  // known.
  Result<void> look(iocs::ProcessReader& reader, iocs::Memory& memory, pid_t pid,
                    std::span<const iocs::ThreadSeen> threads, Clock::time_point deadline);
  // Null before the first look, and after one that failed.
  std::shared_ptr<const LockWaitsSample> sample() const { return sample_; }

 private:
  // PPNR, SPVT, RSET, DSET, DPVT and RDES, a pointer each, stand between (dbCommon.dbd).
  static constexpr unsigned kLsetAfterPpn = 56;

  // Of a thread, since it ran last.
  struct Sleep {
    std::uint64_t run_ns = 0;
    std::uint64_t mutex = 0;  // that it waits for; 0: for none
    bool passed = false;      // the records are, or were, passed for it
  };
  using Records = std::vector<std::uint32_t>;  // indices into the database's, ascending
  using Waiting = std::vector<const iocs::ThreadSeen*>;
  class Threads;

  Result<void> read_calls(const Threads& threads, Clock::time_point deadline);
  Result<void> pass_records(iocs::Memory& memory, Clock::time_point deadline);
  Result<std::size_t> pass_some(iocs::Memory& memory);
  Result<void> tell(const Threads& threads, iocs::Memory& memory, Clock::time_point deadline);
  Result<void> add_names(LockWait& wait, std::uint64_t mutex, const Waiting& waiting,
                         const Threads& threads, iocs::Memory& memory, Clock::time_point deadline);

  std::shared_ptr<const Database> database_;
  unsigned lset_;                             // of dbCommon
  std::map<int, Sleep> sleeps_;               // by thread, of those that do not run
  std::optional<std::size_t> next_;           // record to pass; nothing: none is to be passed
  std::map<std::uint64_t, Records> passing_;  // by mutex, so far
  std::map<std::uint64_t, std::shared_ptr<const Records>> locks_;  // by mutex
  std::shared_ptr<const LockWaitsSample> sample_;
};

// `open`: records that the thread with the lock processes, the innermost first. The first one of
// them that has this lock is named.
void name_open_record(LockWait& wait, std::span<const std::uint32_t> open);

// "SR:A and 4 more of its lock set"; "scan-1, which processes the record"; "CAS-client (4),
// scan-1".
std::string locked_text(const LockWait& wait, const Database& database);
std::string holder_text(const LockWait& wait);
std::string waiting_text(const LockWait& wait);

// The page's table of locks that threads wait for. Pure.
exposition::StatusTable lock_waits_table(const std::vector<IocSample>& iocs);

}  // namespace ioc_exporter::records
