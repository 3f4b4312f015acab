// Reading: one request that a reader is about to answer. Who asked may wait for it, or come back
// later: the reader works on meanwhile.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/rooted_fs.h"
#include "base/unique_fd.h"
#include "iocs/memory/reader_forker.h"
#include "iocs/memory/reader_wire.h"

namespace ioc_exporter::iocs {

class Reading {
 public:
  using Clock = std::chrono::steady_clock;
  struct Limits {
    // How long the reader may sleep. Time in which it has no CPU does not count.
    std::chrono::milliseconds patience{};
    // One that runs all this time, or waits for a CPU, is given up as well.
    std::chrono::milliseconds longest{};
  };
  struct Times {
    std::chrono::nanoseconds waited{0};  // by whoever asked
    std::chrono::nanoseconds slept{0};   // by the reader

    Times& operator+=(const Times& other) {
      waited += other.waited;
      slept += other.slept;
      return *this;
    }
  };
  struct Answer {
    std::string bytes;
    UniqueFd fd;
  };

  // `what` is for messages.
  Reading(Reader reader, const Limits& limits, std::string what);

  // False: the reader is gone.
  bool ask(const ReaderRequest& request, std::string_view payload, int fd);
  // Waits until it is over, or until it is `enough`. True: it is over.
  bool wait(const RootedFs& fs, const std::function<bool()>& enough);

  bool is_over() const { return is_silent_ || answer_.has_value(); }
  // The reader did not answer in time.
  bool is_silent() const { return is_silent_; }
  // Once it is over, and not silent.
  Result<Answer> take_answer() { return std::move(*answer_); }
  Reader& reader() { return reader_; }
  const std::string& what() const { return what_; }
  const Limits& limits() const { return limits_; }
  const Times& times() const { return times_; }
  // What others paid for it: the time that was waited for it, and the CPU time that the reader took
  // when nobody waited.
  std::chrono::nanoseconds cost() const;

 private:
  void receive_piece();
  void glance(const RootedFs& fs);
  void fail(Error error);

  Reader reader_;
  Limits limits_;
  std::string what_;
  Clock::time_point began_ = Clock::now();
  Clock::time_point last_glance_ = began_;
  Times times_;
  std::optional<std::uint64_t> ticks_when_left_;  // of the reader's CPU time
  std::uint64_t ticks_ = 0;
  Answer pieces_;
  unsigned received_ = 0;
  std::optional<Result<Answer>> answer_;
  bool is_silent_ = false;
};

}  // namespace ioc_exporter::iocs
