// ReaderPool: a ProcessReader that never hangs. Each reading is done by a reader, a child of a
// helper process (reader_child.h), with a deadline. A reader that does not answer in time is
// killed, another is forked when one is needed, and the process that was read is not read for a
// while. What readings take is charged to the user of the process, so that nobody delays the
// others; users with readers that cannot be killed are limited.
//
// A look at all processes waits for a moment only: a reading that takes longer fails with
// is_under_way() and goes on, and the same request gets its answer later.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/helper.h"
#include "base/log.h"
#include "exposition/self_samples.h"
#include "iocs/memory/process_reader.h"
#include "iocs/memory/reader_wire.h"
#include "iocs/memory/reading.h"

namespace ioc_exporter::iocs {

class ReaderPool final : public ProcessReader {
 public:
  using Clock = std::chrono::steady_clock;
  // How long a reader may sleep within one reading.
  static constexpr std::chrono::milliseconds kMemoryPatience{250};
  static constexpr std::chrono::milliseconds kFilePatience{1000};
  // How long one look waits for readings, in all.
  static constexpr std::chrono::milliseconds kTurn{200};
  // Readings that go on with nobody waiting for them, and of those the ones that search files,
  // which takes memory: in all, and of one user.
  static constexpr std::size_t kMostParked = 24, kMostParkedOfUser = 6;
  static constexpr std::size_t kMostSearches = 8, kMostSearchesOfUser = 2;
  // Bytes of unfetched answers: a user with more gets no other reading.
  static constexpr std::size_t kMostKeptOfUser = 16u << 20;
  // Readers that were killed and are still there, of one user; and in all, above which a user may
  // have none.
  static constexpr std::size_t kMostStuckOfUser = 4, kMostStuck = 64;
  // The helper forks and kills at once, unless it is stopped.
  static constexpr std::chrono::milliseconds kHelperPatience{1000};

  explicit ReaderPool(RootedFs fs) : ProcessReader(std::move(fs)) {}

  // That forks the readers: serve_reader_request(). Before the first reading.
  void use_helper(std::shared_ptr<Helper> helper) { helper_ = std::move(helper); }

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

  // In any thread, what follows.
  // From now on looks wait for a moment only; before, until all is read.
  void stop_waiting() { waits_ = false; }
  // From now on all readings fail at once, those that are under way too.
  void stop() { stopped_ = true; }
  ReaderSample sample();

 private:
  class RemoteMemory;
  enum class Kind { light, files };  // files: searches them, at low priority
  struct Question {
    ReaderRequest request;
    std::string payload{};
    int fd = -1;
    bool of_file = false;  // about the file of `fd`, which others may map; else about the process
    std::chrono::milliseconds patience = kFilePatience;
  };
  // A reading whose asker comes back for the answer.
  struct Parked {
    Reading reading;
    Kind kind;
    pid_t of;  // it is of no use when this process has ended; 0: it is of a file
    Clock::time_point wanted;
  };

  Result<Reader> take_reader(Kind kind);
  Result<Reader> fork_reader(Kind kind);
  void give_back(Kind kind, Reader reader);
  Result<Reading::Answer> ask(const Question& question, pid_t pid, const std::string& what);
  Result<Parked> start(const Question& question, pid_t pid, const std::string& what);
  Result<void> find_place(Kind kind, uid_t user, const std::string& what);
  void move_on(Parked& parked, const std::function<bool()>& enough);
  void settle(Reading& reading);
  Error give_up(Reading& reading, const std::string& why);
  Result<ReadProcess> may_read(pid_t pid, const std::string& what);
  Error put_off(const std::string& what, int code, const std::string& why);
  bool is_stuck(uid_t user);

  std::shared_ptr<Helper> helper_;
  std::atomic<bool> stopped_ = false;
  std::atomic<bool> waits_ = true;
  Clock::time_point turn_ends_;
  std::map<std::string, Parked> parked_;  // by the question's key
  std::uint64_t forgotten_ = 0;
  std::mutex mutex_;  // for what follows
  std::map<Kind, std::vector<Reader>> idle_;
  std::vector<std::pair<UniqueFd, uid_t>> killed_;  // readers that may be there still, for whom
  ReaderBudget budget_;
  ReaderSample sample_;
  LogBound put_off_lines_{1};
};

}  // namespace ioc_exporter::iocs
