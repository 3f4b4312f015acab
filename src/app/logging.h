// Sets up spdlog's default logger: one line an event on stderr, as logfmt or JSON.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>

#include "app/options.h"
#include "base/shared_memory.h"

namespace ioc_exporter::app {

// Lines on their way to a file that may block for ever: a pipe that nobody reads, a terminal that
// is stopped. A thread writes them, nobody waits for it, and lines without room are counted.
//
// A process without that thread (before start(), or forked) writes at once what there is room for.
class LineQueue {
 public:
  static constexpr std::size_t kMostBytes = 256u << 10;

  explicit LineQueue(int file) : file_(file) {}
  LineQueue(const LineQueue&) = delete;
  LineQueue& operator=(const LineQueue&) = delete;

  // Starts the thread of this process, which never ends: a queue that was started is not destroyed.
  void start();
  void put(std::string line);
  void wait_until_written(std::chrono::milliseconds patience);
  // Lines that were not written, whole or in part; of all processes that were forked since the
  // queue was made.
  std::uint64_t lost() const { return *lost_; }

 private:
  void write_at_once(std::string_view line);
  void run();

  const int file_;
  SharedMemory<std::atomic<std::uint64_t>> lost_ = make_shared_memory<std::atomic<std::uint64_t>>();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> lines_;
  std::size_t bytes_ = 0;
  pid_t writer_ = 0;  // the process whose thread writes; 0: none
};
LineQueue& standard_error();

void set_up_logging(const std::string& level, LogFormat format);

// `text` as a quoted string of logfmt and JSON alike: quotes, backslashes and control characters
// escaped.
std::string quoted(std::string_view text);

}  // namespace ioc_exporter::app
