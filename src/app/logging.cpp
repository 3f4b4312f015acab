#include "app/logging.h"

#include <poll.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <thread>
#include <utility>

namespace ioc_exporter::app {
namespace {

// %Q: the message as a quoted string.
class QuotedMessage : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const std::string text = quoted({message.payload.data(), message.payload.size()});
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

class QueueSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit QueueSink(LineQueue& lines) : lines_(lines) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    lines_.put({text.data(), text.size()});
  }
  void flush_() override {}

  LineQueue& lines_;
};

bool has_room(int file) {
  pollfd events{file, POLLOUT, 0};
  return ::poll(&events, 1, 0) > 0;
}

// In pieces for which a pipe that has room for any has room.
constexpr std::size_t kPiece = 4096;

}  // namespace

void LineQueue::start() {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(writer_, ::getpid()) != ::getpid()) std::thread([this] { run(); }).detach();
}

void LineQueue::put(std::string line) {
  const std::scoped_lock lock(mutex_);
  if (writer_ != ::getpid()) return write_at_once(line);
  if (bytes_ + line.size() > kMostBytes) {
    ++*lost_;
    return;
  }
  bytes_ += line.size();
  lines_.push_back(std::move(line));
  changed_.notify_all();
}

void LineQueue::write_at_once(std::string_view line) {
  while (!line.empty()) {
    const ssize_t written =
        has_room(file_) ? ::write(file_, line.data(), std::min(line.size(), kPiece)) : -1;
    if (written <= 0) {
      ++*lost_;
      return;
    }
    line.remove_prefix(static_cast<std::size_t>(written));
  }
}

void LineQueue::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return !lines_.empty(); });
    std::string_view rest = lines_.front();  // others only append
    lock.unlock();
    while (!rest.empty()) {
      const ssize_t written = ::write(file_, rest.data(), rest.size());
      if (written > 0) {
        rest.remove_prefix(static_cast<std::size_t>(written));
      } else if (errno == EAGAIN) {
        pollfd events{file_, POLLOUT, 0};
        ::poll(&events, 1, -1);
      } else if (errno != EINTR) {
        ++*lost_;
        break;
      }
    }
    lock.lock();
    bytes_ -= lines_.front().size();
    lines_.pop_front();
    changed_.notify_all();
  }
}

void LineQueue::wait_until_written(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience, [this] { return lines_.empty(); });
}

LineQueue& standard_error() {
  static LineQueue* const lines = new LineQueue(STDERR_FILENO);  // its thread never ends
  return *lines;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", byte);
      out += escaped;
    } else {
      out += c;
    }
  }
  return out + '"';
}

void set_up_logging(const std::string& level, LogFormat format) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  formatter->add_flag<QuotedMessage>('Q').add_flag<LevelName>('K');
  formatter->set_pattern(format == LogFormat::json
                             ? R"({"ts":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%K","msg":%Q})"
                             : "ts=%Y-%m-%dT%H:%M:%S.%eZ level=%K msg=%Q");
  auto logger = std::make_shared<spdlog::logger>("", std::make_shared<QueueSink>(standard_error()));
  logger->set_formatter(std::move(formatter));
  logger->set_level(spdlog::level::from_str(level == "warn" ? "warning" : level));
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace ioc_exporter::app
