#include "app/notify.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

namespace ioc_exporter::app {
namespace {

// A third of the time: one datagram that is lost, or one slow round, ends nothing.
constexpr int kPartOfWatchdog = 3;

std::string take_variable(const char* name) {
  const char* value = std::getenv(name);
  std::string text = value ? value : "";
  ::unsetenv(name);
  return text;
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || stop != text.data() + text.size() || value <= 0)
    return std::nullopt;
  return value;
}

// "/path", or "@name" in the abstract namespace.
std::optional<NotifyAddress> parse_address(const std::string& text) {
  NotifyAddress address{};
  address.name.sun_family = AF_UNIX;
  if (text.size() < 2 || (text[0] != '/' && text[0] != '@') ||
      text.size() >= sizeof address.name.sun_path)
    return std::nullopt;
  std::memcpy(address.name.sun_path, text.data(), text.size());
  if (text[0] == '@') address.name.sun_path[0] = '\0';
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + text.size());
  return address;
}

const sockaddr* generic(const NotifyAddress& address) {
  return reinterpret_cast<const sockaddr*>(&address.name);
}

// One line: a newline would begin another assignment.
std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < 0x20; }, ' ');
  return text;
}

}  // namespace

Result<Notifier> Notifier::from_environment() {
  const std::string address = take_variable("NOTIFY_SOCKET");
  const auto watchdog = number(take_variable("WATCHDOG_USEC"));
  const std::string pid = take_variable("WATCHDOG_PID");
  Notifier notifier;
  if (address.empty()) return notifier;
  const std::string action = "tell the service manager at NOTIFY_SOCKET=" + address;
  const auto parsed = parse_address(address);
  if (!parsed) return error_in_words(action + ": no address of a Unix socket");
  notifier.address_ = *parsed;
  notifier.socket_.reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const UniqueFd trial(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!notifier.socket_ || !trial) return last_error(action);
  if (::connect(trial.get(), generic(*parsed), parsed->length) != 0) return last_error(action);
  const timeval patience{1, 0};  // a manager that does not read holds nobody up for longer
  if (::setsockopt(notifier.socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) !=
      0)
    return last_error(action);
  if (watchdog && (pid.empty() || number(pid) == ::getpid())) {
    notifier.watchdog_ = std::chrono::microseconds(*watchdog);
    notifier.next_alive_ = Clock::now();
  }
  return notifier;
}

void Notifier::ready(const std::string& status) const {
  send("READY=1\nSTATUS=" + one_line(status));
}

void Notifier::status(const std::string& status) const {
  send("STATUS=" + one_line(status));
}

void Notifier::reloading() const {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(now / std::chrono::microseconds(1)));
}

void Notifier::stopping() const {
  send("STOPPING=1\nSTATUS=stopping");
}

void Notifier::alive(Clock::time_point now) {
  if (!next_alive_ || now < *next_alive_) return;
  send("WATCHDOG=1");
  next_alive_ = now + watchdog_ / kPartOfWatchdog;
}

void Notifier::send(const std::string& text) const {
  if (!socket_) return;
  // Where to, each time: the manager may have made its socket anew.
  const auto sent = ::sendto(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL,
                             generic(address_), address_.length);
  static_cast<void>(sent);
}

}  // namespace ioc_exporter::app
