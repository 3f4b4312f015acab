#include "app/logging.h"

#include <poll.h>
#include <spdlog/async_logger.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>
#include <semaphore>
#include <utility>

#include "base/shared_memory.h"
#include "exposition/json_text.h"

namespace ioc_exporter::app {
namespace {

// %Q: the message as a quoted string of logfmt and JSON alike.
class QuotedMessage : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    std::string text;
    exposition::append_json_text(text, {message.payload.data(), message.payload.size()});
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<QuotedMessage>();
  }
};

// %K: the level by the name that --log.level knows.
class LevelName : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const auto name = message.level == spdlog::level::warn
                          ? spdlog::string_view_t("warn")
                          : spdlog::level::to_string_view(message.level);
    out.append(name.data(), name.data() + name.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<LevelName>();
  }
};

class FileSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit FileSink(int file) : file_(file) {}

  // From then on lines wait for room: only for a thread that does nothing else.
  void wait_for_room() { patience_ = -1; }
  bool wait_for_flush(std::chrono::milliseconds patience) {
    return flushed_.try_acquire_for(patience);
  }
  std::uint64_t lost() const { return *lost_; }

  void write(std::string_view line, int patience) {
    while (!line.empty()) {
      pollfd events{file_, POLLOUT, 0};
      const bool has_room = ::poll(&events, 1, patience) > 0;
      const ssize_t written =
          has_room ? ::write(file_, line.data(), std::min(line.size(), kPiece)) : -1;
      if (written > 0) {
        line.remove_prefix(static_cast<std::size_t>(written));
      } else if (patience == 0 || (errno != EAGAIN && errno != EINTR)) {
        ++*lost_;
        return;
      }
    }
  }

 private:
  // In pieces for which a pipe that has room for any has room.
  static constexpr std::size_t kPiece = 4096;

  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    write({text.data(), text.size()}, patience_);
  }
  void flush_() override { flushed_.release(); }

  const int file_;
  std::atomic<int> patience_ = 0;  // ms, as poll(2) has it
  std::counting_semaphore<> flushed_{0};
  SharedMemory<std::atomic<std::uint64_t>> lost_ = make_shared_memory<std::atomic<std::uint64_t>>();
};

// They never end: the thread may be writing while the process ends.
std::shared_ptr<FileSink>& sink() {
  static auto* const one = new std::shared_ptr(std::make_shared<FileSink>(STDERR_FILENO));
  return *one;
}
std::shared_ptr<spdlog::details::thread_pool>& thread() {
  static auto* const one = new std::shared_ptr<spdlog::details::thread_pool>();
  return *one;
}

}  // namespace

void start_log_thread() {
  thread() = std::make_shared<spdlog::details::thread_pool>(kMostLogLines, 1);
  auto logger = std::make_shared<spdlog::async_logger>(
      "", sink(), thread(), spdlog::async_overflow_policy::overrun_oldest);
  logger->set_level(spdlog::default_logger()->level());
  sink()->wait_for_room();
  spdlog::set_default_logger(std::move(logger));
}

void wait_until_logged(std::chrono::milliseconds patience) {
  if (!thread()) return;
  // Not by the logger's flush(): that of spdlog 1.14 waits without end.
  thread()->post_flush(std::static_pointer_cast<spdlog::async_logger>(spdlog::default_logger()),
                       spdlog::async_overflow_policy::overrun_oldest);
  sink()->wait_for_flush(patience);
}

std::uint64_t lost_log_lines() {
  return sink()->lost() + (thread() ? thread()->overrun_counter() : 0);
}

void say(std::string_view line) {
  sink()->write(line, 0);
}

void set_up_logging(const std::string& level, LogFormat format, int file) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  formatter->add_flag<QuotedMessage>('Q').add_flag<LevelName>('K');
  formatter->set_pattern(format == LogFormat::json
                             ? R"({"ts":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%K","msg":%Q})"
                             : "ts=%Y-%m-%dT%H:%M:%S.%eZ level=%K msg=%Q");
  sink() = std::make_shared<FileSink>(file);
  sink()->set_formatter(std::move(formatter));
  auto logger = std::make_shared<spdlog::logger>("", sink());
  logger->set_level(spdlog::level::from_str(level == "warn" ? "warning" : level));
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace ioc_exporter::app
