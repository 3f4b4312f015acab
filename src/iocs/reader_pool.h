// ReaderPool: a ProcessReader that nobody can make wait. Each reading is done by a reader, a
// process of its own (reader_forker.h), with a deadline; one that does not answer is given up, and
// the process that it read is left alone for a while, longer each time. What readings take is
// counted for each user: one who takes more than his share waits, the others do not.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log_bound.h"
#include "exposition/self_samples.h"
#include "iocs/process_reader.h"
#include "iocs/reader_budget.h"
#include "iocs/reader_forker.h"
#include "iocs/reader_wire.h"

namespace ioc_exporter::iocs {

class ReaderPool final : public ProcessReader {
 public:
  using Clock = std::chrono::steady_clock;
  // How long a reader may sleep within one reading. Time in which it has no CPU does not count.
  static constexpr std::chrono::milliseconds kMemoryPatience{250};
  static constexpr std::chrono::milliseconds kFilePatience{1000};

  ReaderPool(RootedFs fs, ReaderForker forker);
  ~ReaderPool() override;

  Result<std::unique_ptr<Memory>> memory(const IocId& id) override;
  Result<std::string> text(pid_t pid, const std::string& path, std::size_t limit) override;
  Result<std::vector<FileStatus>> statuses(pid_t pid, std::span<const std::string> paths) override;
  Result<UniqueFd> open(pid_t pid, const std::string& path) override;
  Result<ElfSymbols> symbols(pid_t pid, int fd, const std::string& path) override;
  Result<std::string> base_version(pid_t pid, int fd,
                                   std::span<const LoadSegment> segments) override;

  // In any thread.
  ReaderSample use();
  // Nothing can be read any more.
  bool is_gone() const { return forker_.is_gone(); }
  // From now on all readings fail at once, those that are under way too. In any thread.
  void stop() { stopped_ = true; }

 private:
  class RemoteMemory;
  enum class Kind { memory, files };
  // Whose process or file it is. The user is asked for before the reading: who is gone when it is
  // over has no user any more, and would leave what it took to somebody else.
  struct Owner {
    pid_t pid = 0;
    uid_t user = 0;
  };
  struct Asked {
    std::string bytes;
    UniqueFd fd;
  };

  Result<Reader> take(Kind kind);
  void give_back(Kind kind, Reader reader);
  // One reading of what belongs to `pid`, by any reader of the kind.
  Result<Asked> ask(Kind kind, pid_t pid, const ReaderRequest& request, std::string_view payload,
                    int fd, const std::string& what);
  // The same by this reader, which is closed when it is given up.
  Result<Asked> ask(Reader& reader, std::chrono::milliseconds patience, const Owner& owner,
                    const ReaderRequest& request, std::string_view payload, int fd,
                    const std::string& what);
  Result<Owner> may_read(pid_t pid, const std::string& what);
  Error give_up(Reader& reader, const Owner& owner, const std::string& what);
  void say_put_off(uid_t user);
  void charge(const Owner& owner, std::chrono::nanoseconds time);

  ReaderForker forker_;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::map<Kind, std::vector<Reader>> idle_;
  ReaderBudget budget_;
  ReaderSample use_;
  LogBound put_off_lines_{1};
};

}  // namespace ioc_exporter::iocs
