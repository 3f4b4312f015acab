// ReaderPool: a ProcessReader that never hangs. Each reading is done by a reader, a child of a
// helper process (reader_wire.h), with a deadline. A reader that does not answer in time is
// killed, another is forked when one is needed, and the process that was read is not read for a
// while. One that is busy with a file for long goes on, and gives its answer at a later request. A
// process with a reader that cannot be killed is not read.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/helper.h"
#include "base/log.h"
#include "elf/code_file.h"
#include "iocs/memory/process_reader.h"
#include "iocs/memory/reader_wire.h"
#include "iocs/memory/reading_pauses.h"

namespace ioc_exporter::iocs {

struct ReaderSample {
  std::uint64_t given_up = 0;   // readings that did not end in time, so far
  std::uint64_t unwatched = 0;  // processes that are not read for a while
};

class ReaderPool final : public ProcessReader {
 public:
  using Clock = std::chrono::steady_clock;
  // How long a reader may sleep within one reading. Time in which it waits for a CPU does not
  // count.
  static constexpr std::chrono::milliseconds kMemoryPatience{250};
  static constexpr std::chrono::milliseconds kFilePatience{1000};
  // How long a reader that runs, or waits for a CPU, is waited for at once: others wait meanwhile.
  static constexpr std::chrono::milliseconds kAtOnce{1000};
  static constexpr std::size_t kMostLong = 8;  // of such readers
  // How long a reading takes at most, whatever its reader does.
  static constexpr std::chrono::seconds kLongest{30};
  // The helper forks and kills at once, unless it is stopped.
  static constexpr std::chrono::milliseconds kHelperPatience{1000};

  explicit ReaderPool(RootedFs fs, std::chrono::milliseconds at_once = kAtOnce)
      : ProcessReader(std::move(fs)), at_once_(at_once) {}

  // That forks the readers: serve_reader_request(). Before the first reading.
  void use_helper(std::shared_ptr<Helper> helper) { helper_ = std::move(helper); }

  // In any thread, each with a reader of its own.
  void begin(pid_t pid) override;
  Result<std::unique_ptr<Memory>> memory(const IocId& id) override;
  Result<std::string> text(pid_t pid, const std::string& path, std::size_t limit) override;
  Result<std::vector<FileStatus>> statuses(pid_t pid, std::span<const std::string> paths) override;
  Result<UniqueFd> open(pid_t pid, const std::string& path) override;
  Result<elf::ElfSymbols> symbols(pid_t pid, int fd, const std::string& path) override;
  Result<std::string> base_version(pid_t pid, int fd,
                                   std::span<const elf::LoadSegment> segments) override;
  Result<elf::FoundFunctions> functions(pid_t pid, int fd, const std::string& path,
                                        std::span<const elf::FunctionWish> wishes) override;

  // From now on all readings fail at once, those that are under way too.
  void stop() { stopped_ = true; }
  ReaderSample sample();

 private:
  class RemoteMemory;
  // A reader process: the exporter's end of its socket, and the process by descriptor and number.
  struct Reader {
    UniqueFd socket;
    UniqueFd process;
    pid_t pid = 0;
  };
  struct Question {
    ReaderRequest request;
    std::string_view payload{};
    int fd = -1;
    std::chrono::milliseconds patience = kFilePatience;
  };
  struct Answer {
    std::string bytes;
    UniqueFd fd;
  };
  struct Spent {
    std::chrono::nanoseconds waited{0}, asleep{0};  // by us, and the reader
  };
  // A reading that has begun.
  struct Reading {
    Clock::time_point began = Clock::now(), last_check = began;
    std::chrono::nanoseconds asleep{0};
    unsigned pieces = 0;
    Answer answer = {};
  };
  enum class Outcome { over, late, goes_on };
  // The file, and what was asked about it.
  struct FileKey {
    ReaderOp op{};
    elf::FileId file;
    std::string payload;
    bool operator==(const FileKey&) const = default;
  };
  struct LongReading {
    FileKey key;
    pid_t pid = 0;
    Reader reader;
    Reading reading;
  };

  Result<Reader> take_reader();
  Result<Reader> fork_reader();
  void give_back(Reader reader);
  Result<Answer> ask(const Question& question, pid_t pid, const std::string& what);
  Result<Answer> ask(Reader& reader, pid_t pid, const Question& question, const std::string& what,
                     Spent& spent);
  Result<Answer> ask_of_file(const Question& question, pid_t pid, const std::string& what);
  Result<void> send(Reader& reader, const Question& question, const std::string& what);
  Result<Answer> wait(Reader& reader, Reading& reading, std::chrono::milliseconds patience,
                      std::chrono::milliseconds at_once, const std::string& what, Outcome& outcome);
  Error give_up(Reader& reader, pid_t pid, const std::string& text);
  Result<std::optional<LongReading>> take_long(pid_t pid, const FileKey& key,
                                               const std::string& what);
  void give_up_longest();
  Result<void> may_read(pid_t pid, const std::string& what);

  std::shared_ptr<Helper> helper_;
  const std::chrono::milliseconds at_once_;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;  // for what follows
  std::vector<Reader> idle_;
  std::vector<std::pair<UniqueFd, pid_t>> killed_;  // may still exist; with what they read
  ReadingPauses pauses_;
  // Of readings that go on, by process: there is a pause after each.
  std::map<pid_t, LongReading> long_;
  ReadingPauses long_pauses_;
  ReaderSample sample_;
};

}  // namespace ioc_exporter::iocs
