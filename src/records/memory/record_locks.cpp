#include "records/memory/record_locks.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/ascii.h"
#include "base/time_text.h"
#include "exposition/label_text.h"

namespace ioc_exporter::records {
namespace {

constexpr std::size_t kAtOnce = 1024;  // records
constexpr std::size_t kShown = 100;
constexpr std::uint32_t kContended = 2;  // of a mutex that threads wait for (glibc, lowlevellock.h)
constexpr std::uint64_t kLockPi2 = 13;   // FUTEX_LOCK_PI2, since Linux 5.14

// dbLockPvt.h; epicsMutex.cpp and osdMutex.c.
struct LockRecord {
  iocs::layout::EllNode node;
  std::uint64_t set;     // lockSet *
  std::uint64_t record;  // struct dbCommon *
};
constexpr std::uint64_t kLockInSet = 40;  // epicsMutexId, behind a node and a list
struct MutexParm {
  iocs::layout::EllNode node;
  std::uint64_t osd;  // epicsMutexOSD *; in 7.0.10 the name of a file
};
constexpr std::uint64_t kMutexInParm = 32;          // in 7.0.10
constexpr std::uint64_t kMutexAfterAttributes = 8;  // in epicsMutexOSD, before 3.15.1

// pthread_mutex_t of glibc.
struct Mutex {
  std::uint32_t lock, count;
  std::int32_t owner;
  std::uint32_t users;
  std::int32_t kind;
};
static_assert(sizeof(pthread_mutex_t) >= sizeof(Mutex));
constexpr std::int32_t kKinds = 3;  // bits of `kind` that tell recursive ones from others

// A value at each of the addresses.
template <class T>
Result<std::vector<T>> gather(iocs::Memory& memory, std::span<const std::uint64_t> addresses) {
  std::vector<T> values(addresses.size());
  for (std::size_t done = 0; done < values.size();) {
    const auto into = std::as_writable_bytes(std::span(values).subspan(done));
    const auto got = memory.gather(addresses.subspan(done), sizeof(T), into);
    if (!got) return got.error();
    done += *got;
  }
  return values;
}

}  // namespace

std::optional<std::uint64_t> awaited_mutex(std::string_view system_call) {
  const std::string text(system_call);
  if (text.starts_with("-1 ")) return 0;  // not in a system call: a page fault
  long number = 0;
  std::uint64_t address = 0, operation = 0, value = 0, timeout = 0;
  if (std::sscanf(text.c_str(), "%ld 0x%" SCNx64 " 0x%" SCNx64 " 0x%" SCNx64 " 0x%" SCNx64, &number,
                  &address, &operation, &value, &timeout) != 5)
    return {};
  if (number != SYS_futex || timeout != 0) return 0;
  switch (operation & static_cast<unsigned>(FUTEX_CMD_MASK)) {
    case FUTEX_WAIT:  // of pthread_cond_wait() and sem_wait() it is FUTEX_WAIT_BITSET
      return static_cast<std::uint32_t>(value) == kContended ? address : 0;
    case FUTEX_LOCK_PI:
    case kLockPi2:
      return address;
    default:
      return 0;
  }
}

// What /proc says of the threads of one process.
class RecordLocks::Threads {
 public:
  Threads(iocs::ProcessReader& reader, pid_t pid, std::span<const iocs::ThreadSeen> all)
      : reader_(reader), pid_(pid), all_(all) {}

  std::span<const iocs::ThreadSeen> all() const { return all_; }
  Result<std::string> text(int tid, const char* file, std::size_t most = 4096) const {
    return reader_.text(
        pid_, "/proc/" + std::to_string(pid_) + "/task/" + std::to_string(tid) + "/" + file, most);
  }
  // It has not run since.
  bool is_still(const iocs::ThreadSeen& thread) const {
    const auto times = text(thread.tid, "schedstat");
    return times && number_after(*times, "") == thread.run_ns;
  }
  std::string name(int tid) const {
    const auto comm = text(tid, "comm");
    return comm ? exposition::utf8_safe(comm->substr(0, comm->find('\n'))) : std::string();
  }
  // The one that the process itself knows by this number, which is another number here where it is
  // in a pid namespace of its own. 0: it has ended; nothing: not known, or not in time.
  std::optional<int> find(std::uint64_t number, Clock::time_point deadline) const {
    const auto main = own_number(pid_);
    if (!main) return {};
    const auto same = static_cast<int>(number);
    if (*main == static_cast<std::uint64_t>(pid_)) return text(same, "comm") ? same : 0;
    if (!by_own_number_) {
      std::unordered_map<std::uint64_t, int> found;
      for (const iocs::ThreadSeen& thread : all_) {
        if (Clock::now() >= deadline) return {};
        const auto own = own_number(thread.tid);
        if (own) found.emplace(*own, thread.tid);
        all_numbers_ = all_numbers_ && own;
      }
      by_own_number_ = std::move(found);
    }
    const auto found = by_own_number_->find(number);
    if (found != by_own_number_->end()) return found->second;
    return all_numbers_ ? std::optional(0) : std::nullopt;
  }

 private:
  // The last of those in each pid namespace that it is in.
  std::optional<std::uint64_t> own_number(int tid) const {
    const auto status = text(tid, "status", kMostStatus);
    const auto at = status ? status->find("\nNSpid:") : std::string::npos;
    if (at == std::string::npos) return {};
    const std::string line = status->substr(at + 1, status->find('\n', at + 1) - at - 1);
    return number_after(line.substr(line.rfind('\t')), "\t");
  }

  // Of /proc/PID/status: it names up to 65,536 groups.
  static constexpr std::size_t kMostStatus = 1u << 20;

  iocs::ProcessReader& reader_;
  pid_t pid_;
  std::span<const iocs::ThreadSeen> all_;
  mutable std::optional<std::unordered_map<std::uint64_t, int>> by_own_number_;  // read once
  mutable bool all_numbers_ = true;                                              // were read
};

Result<void> RecordLocks::look(iocs::ProcessReader& reader, iocs::Memory& memory, pid_t pid,
                               std::span<const iocs::ThreadSeen> threads,
                               Clock::time_point deadline) {
  const Threads all(reader, pid, threads);
  auto done = read_calls(all, deadline);
  if (done) done = pass_records(memory, deadline);
  if (done) done = tell(all, memory, deadline);
  if (done) return done;
  sample_.reset();
  next_.reset();
  for (auto& [tid, sleep] : sleeps_) sleep.passed = false;
  return done;
}

// Each sleep is asked for once, the youngest first: where many threads sleep all the time, one that
// has come to wait is found at once.
Result<void> RecordLocks::read_calls(const Threads& threads, Clock::time_point deadline) {
  std::map<int, Sleep> sleeps;
  Waiting unknown;
  for (const iocs::ThreadSeen& thread : threads.all()) {
    if (thread.seen - thread.still_since < kLongWait) continue;
    const auto known = sleeps_.find(thread.tid);
    if (known != sleeps_.end() && known->second.run_ns == thread.run_ns)
      sleeps.insert(*known);
    else
      unknown.push_back(&thread);
  }
  sleeps_ = std::move(sleeps);
  std::ranges::sort(unknown, std::greater{}, &iocs::ThreadSeen::still_since);
  const auto until = std::min(deadline, Clock::now() + kForCalls);
  for (std::size_t i = 0; i < unknown.size() && (i < kFewestCalls || Clock::now() < until); ++i) {
    const auto call = threads.text(unknown[i]->tid, "syscall");
    if (!call && !threads.is_still(*unknown[i])) continue;  // it may have ended
    if (!call) return call.error();
    const auto mutex = awaited_mutex(*call);
    if (mutex && threads.is_still(*unknown[i]))
      sleeps_.emplace(unknown[i]->tid, Sleep{unknown[i]->run_ns, *mutex});
  }
  return {};
}

// When all were passed, a mutex that is none of theirs is something else's.
Result<void> RecordLocks::pass_records(iocs::Memory& memory, Clock::time_point deadline) {
  if (!next_) {
    passing_.clear();
    for (auto& [tid, sleep] : sleeps_) {
      if (sleep.mutex == 0 || std::exchange(sleep.passed, true)) continue;
      if (!locks_.contains(sleep.mutex)) passing_.try_emplace(sleep.mutex);
    }
    if (passing_.empty()) return {};
    next_ = 0;
  }
  while (*next_ < database_->records.size()) {
    if (Clock::now() >= deadline) return {};
    const auto some = pass_some(memory);
    if (!some) return some.error();
    *next_ += *some;
  }
  next_.reset();
  for (auto& [mutex, records] : passing_)
    if (!records.empty()) locks_[mutex] = std::make_shared<const Records>(std::move(records));
  return {};
}

Result<std::size_t> RecordLocks::pass_some(iocs::Memory& memory) {
  const std::span rest = std::span(database_->records).subspan(*next_);
  const std::span records = rest.first(std::min(rest.size(), kAtOnce));
  std::vector<std::uint64_t> places;
  for (const RecordIdentity& record : records) places.push_back(record.address + lset_);
  const auto lock_records = gather<std::uint64_t>(memory, places);
  if (!lock_records) return lock_records.error();
  const auto lock_record = gather<LockRecord>(memory, *lock_records);
  if (!lock_record) return lock_record.error();
  for (std::size_t i = 0; i < records.size(); ++i) {
    if ((*lock_record)[i].record != records[i].address)
      return error_in_words(records[i].name + ".LSET does not lead back to its record");
    places[i] = (*lock_record)[i].set + kLockInSet;
  }
  const auto parms = gather<std::uint64_t>(memory, places);
  if (!parms) return parms.error();
  const auto parm = gather<MutexParm>(memory, *parms);
  if (!parm) return parm.error();
  for (std::size_t i = 0; i < records.size(); ++i)
    for (const std::uint64_t mutex :
         {(*parms)[i] + kMutexInParm, (*parm)[i].osd, (*parm)[i].osd + kMutexAfterAttributes})
      if (const auto wanted = passing_.find(mutex); wanted != passing_.end())
        wanted->second.push_back(static_cast<std::uint32_t>(*next_ + i));
  return records.size();
}

Result<void> RecordLocks::tell(const Threads& threads, iocs::Memory& memory,
                               Clock::time_point deadline) {
  std::map<std::uint64_t, Waiting> by_mutex;
  for (const iocs::ThreadSeen& thread : threads.all())
    if (const auto sleep = sleeps_.find(thread.tid);
        sleep != sleeps_.end() && locks_.contains(sleep->second.mutex))
      by_mutex[sleep->second.mutex].push_back(&thread);
  std::erase_if(locks_, [&](const auto& lock) { return !by_mutex.contains(lock.first); });

  auto sample = std::make_shared<LockWaitsSample>();
  const auto now = Clock::now();
  for (auto& [mutex, waiting] : by_mutex) {
    std::ranges::sort(waiting, {}, &iocs::ThreadSeen::still_since);
    LockWait wait;
    wait.waiting = waiting.size();
    wait.seconds = std::chrono::duration<double>(now - waiting.front()->still_since).count();
    wait.records = locks_.at(mutex);
    wait.record = *std::ranges::min_element(*wait.records, {}, [this](std::uint32_t i) {
      return std::string_view(database_->records[i].name);
    });
    if (sample->longest.size() < kMostTold)
      if (auto named = add_names(wait, mutex, waiting, threads, memory, deadline); !named)
        return named;
    sample->threads += wait.waiting;
    sample->oldest_seconds = std::max(sample->oldest_seconds, wait.seconds);
    sample->longest.push_back(std::move(wait));
  }
  std::ranges::sort(sample->longest, std::greater{}, &LockWait::seconds);
  if (sample->longest.size() > kMostTold) sample->longest.resize(kMostTold);
  sample_ = std::move(sample);
  return {};
}

Result<void> RecordLocks::add_names(LockWait& wait, std::uint64_t mutex, const Waiting& waiting,
                                    const Threads& threads, iocs::Memory& memory,
                                    Clock::time_point deadline) {
  for (const iocs::ThreadSeen* thread : waiting) {
    if (wait.threads.size() == kMostNamed || Clock::now() >= deadline) break;
    wait.threads.push_back(threads.name(thread->tid));
  }
  const auto read = memory.value<Mutex>(mutex);
  if (!read) return read.error();
  if ((read->kind & kKinds) != PTHREAD_MUTEX_RECURSIVE)
    return error_in_words("the lock of " + database_->records[wait.record].name +
                          " is no epicsMutex");
  const auto holder =
      read->owner == 0 ? std::nullopt : threads.find(static_cast<unsigned>(read->owner), deadline);
  std::string name = holder.value_or(0) > 0 ? threads.name(*holder) : "";
  // Else it may be the one who got the lock after this wait.
  if (!threads.is_still(*waiting.front())) return {};
  wait.holder_tid = holder;
  wait.holder = std::move(name);
  return {};
}

void name_open_record(LockWait& wait, std::span<const std::uint32_t> open) {
  const auto found = std::ranges::find_if(open, [&wait](std::uint32_t record) {
    return std::ranges::binary_search(*wait.records, record);
  });
  wait.is_open = found != open.end();
  if (wait.is_open) wait.record = *found;
}

std::string locked_text(const LockWait& wait, const Database& database) {
  const std::size_t more = wait.records->size() - 1;
  return database.records[wait.record].name +
         (more == 0 ? "" : " and " + std::to_string(more) + " more of its lock set");
}

std::string holder_text(const LockWait& wait) {
  if (!wait.holder_tid) return "not known";
  if (*wait.holder_tid == 0) return "a thread that has ended";
  return wait.holder + (wait.is_open ? ", which processes the record" : "");
}

std::string waiting_text(const LockWait& wait) {
  std::map<std::string, std::size_t> names;
  for (const std::string& name : wait.threads) ++names[name];
  std::string text;
  for (const auto& [name, count] : names)
    text +=
        (text.empty() ? "" : ", ") + name + (count == 1 ? "" : " (" + std::to_string(count) + ")");
  const std::size_t more = wait.waiting - std::min<std::size_t>(wait.waiting, wait.threads.size());
  return more == 0 ? text : text + " and " + std::to_string(more) + " more";
}

exposition::StatusTable lock_waits_table(const std::vector<IocSample>& iocs) {
  exposition::StatusTable table;
  table.title = "Locks of records that threads wait for";
  table.note = "For longer than a second: nothing of the record's lock set is processed meanwhile.";
  table.columns = {{"IOC"}, {"record"}, {"held by"}, {"waiting threads"}, {"for at least", true}};
  for (const IocSample& ioc : iocs) {
    if (!ioc.up || !ioc.database || !ioc.lock_waits) continue;
    for (const LockWait& wait : ioc.lock_waits->longest)
      if (table.rows.size() < kShown)
        table.rows.push_back({ioc.name, locked_text(wait, *ioc.database), holder_text(wait),
                              waiting_text(wait), span_text(wait.seconds)});
  }
  return table;
}

}  // namespace ioc_exporter::records
