// Sets up spdlog's default logger: one line an event on stderr, as logfmt or JSON.
//
// Standard error may block for ever: a pipe that nobody reads, a terminal that is stopped. A
// process writes at once what there is room for, until its thread writes (spdlog's asynchronous
// logger): then nobody waits for it, and of lines without room the oldest go.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "app/options.h"

namespace ioc_exporter::app {

inline constexpr std::size_t kMostLogLines = 1024;  // that wait for the thread

// `file`: standard error, but in tests.
void set_up_logging(const std::string& level, LogFormat format, int file = STDERR_FILENO);
// Starts the thread of this process, which never ends.
void start_log_thread();
// Returns when all lines until now are written, or the time is over.
void wait_until_logged(std::chrono::milliseconds patience);
// Lines that were not written, whole or in part; of all processes that were forked since the
// program began.
std::uint64_t lost_log_lines();

// Writes a line as it is, at once, as far as there is room.
void say(std::string_view line);

}  // namespace ioc_exporter::app
