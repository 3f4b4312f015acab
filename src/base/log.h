// Lines for the log: what is logged goes to spdlog's default logger.
//
// Texts are put together in log.cpp alone. With spdlog's own templates each file that logs compiles
// fmt's formatting of numbers again, which was most of the time that it took.
#pragma once

#include <fmt/core.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/result.h"

namespace ioc_exporter {

// TroubleLog: the same trouble is logged once, and again only after it was gone.

// Not thread-safe.
class TroubleLog {
 public:
  // `action` names what was tried: "read the counts of puts". Whether it went well.
  bool report(const std::string& action, const Result<void>& result);

 private:
  std::map<std::string, std::string> reported_;  // action -> text
};

// LogBound: how many lines of a kind go into the log in a minute, where others decide how many
// there are. Pure: time is a parameter.
class LogBound {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::minutes kWindow{1};

  explicit LogBound(std::uint64_t most) : most_(most) {}

  // May one more be written?
  bool allows(Clock::time_point now) {
    if (now >= end_) {
      end_ = now + kWindow;
      unsaid_ += std::exchange(over_, 0);
      lines_ = 0;
    }
    if (lines_ < most_) {
      ++lines_;
      return true;
    }
    ++over_;
    return false;
  }
  // How many were left out in the minutes before, since the last call.
  std::uint64_t take_left_out() { return std::exchange(unsaid_, 0); }

 private:
  std::uint64_t most_;
  Clock::time_point end_{};
  std::uint64_t lines_ = 0;
  std::uint64_t over_ = 0;
  std::uint64_t unsaid_ = 0;
};

}  // namespace ioc_exporter

namespace ioc_exporter::log {

enum class Level { debug = 1, info, warn, error };  // as spdlog has them

void write(Level level, fmt::string_view format, fmt::format_args values);

template <class... T>
void debug(fmt::format_string<T...> format, T&&... values) {
  write(Level::debug, format, fmt::make_format_args(values...));
}
template <class... T>
void info(fmt::format_string<T...> format, T&&... values) {
  write(Level::info, format, fmt::make_format_args(values...));
}
template <class... T>
void warn(fmt::format_string<T...> format, T&&... values) {
  write(Level::warn, format, fmt::make_format_args(values...));
}
template <class... T>
void error(fmt::format_string<T...> format, T&&... values) {
  write(Level::error, format, fmt::make_format_args(values...));
}

}  // namespace ioc_exporter::log
