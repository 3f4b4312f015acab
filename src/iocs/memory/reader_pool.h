// ReaderPool: a ProcessReader that nobody can make wait. Each reading is done by a reader, a
// process of its own (reader_forker.h), with a deadline; one that does not answer is given up, and
// the process that it read is left alone for a while, longer each time. What readings take is
// counted for each user: one who takes more than his share waits, the others do not.
//
// Who looks at all processes waits for a moment only: what is not answered by then fails with
// is_under_way(), its reader goes on, and who asks the same again gets the answer.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log_bound.h"
#include "exposition/self_samples.h"
#include "iocs/find/process_user.h"
#include "iocs/memory/process_reader.h"
#include "iocs/memory/reader_budget.h"
#include "iocs/memory/reader_forker.h"
#include "iocs/memory/reader_wire.h"
#include "iocs/memory/reading.h"

namespace ioc_exporter::iocs {

class ReaderPool final : public ProcessReader {
 public:
  using Clock = std::chrono::steady_clock;
  // How long a reader may sleep within one reading. Time in which it has no CPU does not count.
  static constexpr std::chrono::milliseconds kMemoryPatience{250};
  static constexpr std::chrono::milliseconds kFilePatience{1000};
  // In all, how long one look waits for readings.
  static constexpr std::chrono::milliseconds kTurn{200};
  // Readings that are under way with nobody waiting for them, and of those the ones that search
  // files, which take memory: in all, and of one user.
  static constexpr std::size_t kMostParked = 24, kMostParkedOfUser = 6;
  static constexpr std::size_t kMostSearches = 8, kMostSearchesOfUser = 2;
  // Bytes of answers that nobody has come for yet: more than that gets no other.
  static constexpr std::size_t kMostKeptOfUser = 16u << 20;

  ReaderPool(RootedFs fs, ReaderForker forker);
  ~ReaderPool() override;

  // In any thread.
  Result<std::unique_ptr<Memory>> memory(const IocId& id) override;
  // The rest: in one thread at a time.
  void begin_look() override;
  void forget(pid_t pid) override;
  Result<std::string> text(pid_t pid, const std::string& path, std::size_t limit) override;
  Result<std::vector<FileStatus>> statuses(pid_t pid, std::span<const std::string> paths) override;
  Result<UniqueFd> open(pid_t pid, const std::string& path) override;
  Result<ElfSymbols> symbols(pid_t pid, int fd, const std::string& path) override;
  Result<std::string> base_version(pid_t pid, int fd,
                                   std::span<const LoadSegment> segments) override;

  // From now on looks are short; before that they wait for all that they ask. In any thread.
  void hurry() { is_patient_ = false; }

  // In any thread.
  ReaderSample use();
  // Nothing can be read any more.
  bool is_gone() const { return forker_.is_gone(); }
  // From now on all readings fail at once, those that are under way too. In any thread.
  void stop() { stopped_ = true; }

 private:
  class RemoteMemory;
  // Of readers: those of files search them, at low priority.
  enum class Kind { light, files };
  // Whose process or file it is. The user is asked for before the reading: who is gone when it is
  // over has no user any more, and would leave what it took to somebody else.
  struct Owner {
    pid_t pid = 0;
    uid_t user = 0;
  };
  struct Question {
    std::string key;  // what is asked
    Kind kind = Kind::light;
    pid_t of = 0;  // what it is about goes with this process; 0: with none
    std::chrono::milliseconds patience = kFilePatience;
  };
  // A reading that somebody waits for, or will come back for.
  struct Parked {
    Reading reading;
    Owner owner;
    Kind kind;
    pid_t of;
    Clock::time_point wanted;
    std::optional<Result<Reading::Answer>> answer;  // its reader has none but this to give
  };

  Result<Reader> take(Kind kind);
  void give_back(Kind kind, Reader reader);
  // One reading of what belongs to `pid`, by any reader of the kind.
  Result<Reading::Answer> ask(const Question& question, pid_t pid, const ReaderRequest& request,
                              std::string_view payload, int fd, const std::string& what);
  // By this reader, which is closed when it is given up, and until it is over.
  Result<Reading::Answer> ask(Reader& reader, const Owner& owner, const ReaderRequest& request,
                              std::string_view payload, const std::string& what,
                              Reading::Times* total);
  Result<Parked> start(const Question& question, pid_t pid, const ReaderRequest& request,
                       std::string_view payload, int fd, const std::string& what);
  enum class Room { there_is, own_is_taken, none };
  Room room_for(Kind kind, uid_t user);
  void move_on(Parked& parked, const std::function<bool()>& enough);
  Result<Reading::Answer> answer_of(Reading& reading, const Owner& owner);
  Result<Owner> may_read(pid_t pid, const std::string& what);
  Error give_up(Reader& reader, const Owner& owner, const std::string& what);
  void say_put_off(uid_t user);
  void charge(const Owner& owner, std::chrono::nanoseconds time);

  ReaderForker forker_;
  std::atomic<bool> stopped_ = false;
  std::atomic<bool> is_patient_ = true;
  Clock::time_point turn_ends_;
  std::map<std::string, Parked> parked_;  // by what was asked
  std::uint64_t forgotten_ = 0;
  std::mutex mutex_;
  std::map<Kind, std::vector<Reader>> idle_;
  ReaderBudget budget_;
  ReaderSample use_;
  LogBound put_off_lines_{1};
};

}  // namespace ioc_exporter::iocs
