// ProcessReader: what is read of other processes and of the files that they chose, in this thread.
// Any of it may wait for as long as the process' owner likes: a page or a file on a file system
// that never answers (FUSE, a dead NFS server). ReaderPool (reader_pool.h) does the same in
// processes of its own, which it gives up.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/rooted_fs.h"
#include "elf/elf_symbols.h"
#include "elf/function_search.h"
#include "iocs/ioc_id.h"
#include "iocs/memory/memory.h"

namespace ioc_exporter::iocs {

// Symbols that Inspector looks for; known to the readers.
std::span<const std::string> wanted_symbols();

using FileStatus = std::optional<struct stat>;

// The process, or its user, is left alone for a while; nothing is said of what was to be read.
inline bool is_for_now(const Error& error) {
  return error.code == std::errc::stream_timeout ||
         error.code == std::errc::resource_unavailable_try_again;
}

class ProcessReader {
 public:
  explicit ProcessReader(RootedFs fs) : fs_(std::move(fs)) {}
  virtual ~ProcessReader() = default;
  ProcessReader(const ProcessReader&) = delete;
  ProcessReader& operator=(const ProcessReader&) = delete;

  // A process that is new has that number: whatever had it before does not count.
  virtual void begin(pid_t) {}

  // Fails when the process is not the one that `id` names.
  virtual Result<std::unique_ptr<Memory>> memory(const IocId& id);

  // Paths are in the root; `pid` is whose they are.
  // /proc/PID/maps and its like, which wait for that process' memory: at most `limit` bytes.
  virtual Result<std::string> text(pid_t pid, const std::string& path, std::size_t limit);
  // Of all paths at once; none: it cannot be reached.
  virtual Result<std::vector<FileStatus>> statuses(pid_t pid, std::span<const std::string> paths);
  Result<struct stat> status(pid_t pid, const std::string& path);
  // A regular file, for reading. Never waits for a FIFO, and never opens a device.
  virtual Result<UniqueFd> open(pid_t pid, const std::string& path);
  // wanted_symbols() of the open file `fd`; `path` is for messages.
  virtual Result<elf::ElfSymbols> symbols(pid_t pid, int fd, const std::string& path);
  // Of EPICS Base, in the open file; "" = none.
  virtual Result<std::string> base_version(pid_t pid, int fd,
                                           std::span<const elf::LoadSegment> segments);
  // Of the open file: find_functions().
  virtual Result<elf::FoundFunctions> functions(pid_t pid, int fd, const std::string& path,
                                                std::span<const elf::FunctionWish> wishes);

 protected:
  const RootedFs& fs() const { return fs_; }

 private:
  RootedFs fs_;
};

}  // namespace ioc_exporter::iocs
