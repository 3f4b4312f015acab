// ReaderForker: a small process that forks readers when it is told to. Made while the exporter has
// one thread and nothing open; afterwards the exporter itself can fork no more (its sandbox, its
// threads). It reads nothing of others, so it never hangs; it ends with the exporter.
#pragma once

#include <sys/types.h>

#include <functional>
#include <mutex>

#include "base/result.h"
#include "base/unique_fd.h"

namespace ioc_exporter::iocs {

// A reader: the exporter's end of its socket.
struct Reader {
  UniqueFd socket;
  pid_t pid = 0;
};

class ReaderForker {
 public:
  // `confine` is called in the new process: what it leaves is what the readers may do.
  static Result<ReaderForker> start(const std::function<Result<void>()>& confine);
  ReaderForker(ReaderForker&& other) noexcept;
  ReaderForker& operator=(ReaderForker&&) = delete;
  ~ReaderForker();

  // The rest: in any thread. Its process has ended, which it does not do by itself.
  bool is_gone() const;
  Result<Reader> fork(bool patient);
  // Ends a reader. How many of those that were ended have not gone yet: what waits for a file
  // system in the kernel may not hear of its end.
  Result<unsigned> end(pid_t reader);
  // The same count now.
  Result<unsigned> stuck() { return end(0); }

 private:
  ReaderForker(UniqueFd socket, pid_t pid) : socket_(std::move(socket)), pid_(pid) {}

  std::mutex mutex_;
  UniqueFd socket_;
  pid_t pid_;
};

}  // namespace ioc_exporter::iocs
