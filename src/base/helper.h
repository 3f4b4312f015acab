// Helper: a process of the exporter's own that keeps rights which the exporter gives up, and does
// the few things that need them: fixed requests with numbers and one descriptor, answered with a
// descriptor or an error.
//
// A Helper is one channel to the process: requests of one channel are answered one after the other,
// those of different channels do not wait for each other.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace ioc_exporter {

// Of a process that has just been forked by `parent`: SIGKILL ends it when that ends.
Result<void> end_with_parent(pid_t parent);

// As a datagram on a socket pair.
struct HelperRequest {
  std::uint32_t sequence = 0;  // set by Helper
  std::uint32_t what = 0;      // of each helper's own list
  std::uint32_t number = 0;
  std::int32_t pid = 0;
  std::uint64_t offset = 0;
  std::uint64_t more[2] = {};  // the same
};

class Helper {
 public:
  // In the helper. `file`: none where none was sent. What is answered is sent and closed; a
  // descriptor that is none is an answer, too.
  using Serve = std::function<Result<UniqueFd>(const HelperRequest& request, const UniqueFd& file)>;
  struct Work {
    std::string name;                       // of the process, up to 15 characters
    std::function<Result<void>()> confine;  // gives up what it does not need
    Serve serve;
    // Requests that may hang: each is served by a child of the helper. Null: none may.
    std::function<bool(const HelperRequest& request)> may_hang = nullptr;
  };

  // Forks: to be called while the process has one thread. Ends with its owner, whatever ends that.
  static Result<std::shared_ptr<Helper>> start(Work work);
  // Another channel to the same process, which ends with the first.
  Result<std::shared_ptr<Helper>> open_channel();
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;
  ~Helper();

  // In any thread, one at a time. After `patience` the request is given up: a later answer is
  // closed, and until then every request of this channel fails at once. The error has the cause's
  // code.
  static constexpr std::chrono::milliseconds kPatience{5000};
  Result<UniqueFd> ask(HelperRequest request, int file = -1,
                       std::chrono::milliseconds patience = kPatience);

  // Closes a late answer that has come meanwhile: an attachment that nobody knows stays until then.
  void close_late_answer();

  // The process has ended, which it does not do by itself.
  bool is_gone() const;
  pid_t pid() const { return pid_; }
  const std::string& name() const { return name_; }

 private:
  Helper(std::string name, pid_t pid, UniqueFd socket)
      : name_(std::move(name)), pid_(pid), socket_(std::move(socket)) {}
  Result<UniqueFd> receive(std::uint32_t sequence, std::chrono::milliseconds patience);

  std::string name_;
  pid_t pid_;
  UniqueFd socket_;
  std::mutex mutex_;
  std::uint32_t last_sequence_ = 0;
  std::uint32_t owed_ = 0;  // the answer that was given up on; 0: none
};

}  // namespace ioc_exporter
