// Notifier: reports our state to the service manager that started us (sd_notify(3): one datagram to
// the socket that $NOTIFY_SOCKET names; its manual describes the protocol). Without such a manager
// it does nothing.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace ioc_exporter::app {

struct NotifyAddress {
  sockaddr_un name{};
  socklen_t length = 0;
};

class Notifier {
 public:
  using Clock = std::chrono::steady_clock;

  // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and takes them out of the environment.
  // Errors: a socket that cannot be reached, by its address.
  static Result<Notifier> from_environment();
  Notifier() = default;

  // Each is one datagram; one that gets lost is not an error: the manager may be restarting.
  void ready(const std::string& status) const;
  void status(const std::string& status) const;
  void reloading() const;  // ready() says that it is done
  void stopping() const;

  // To be called where the exporter's own loop is alive. Says so to the watchdog, when one waits
  // for it, at most as often as it takes.
  void alive(Clock::time_point now = Clock::now());
  // When alive() should be called at the latest; nothing: no watchdog waits.
  std::optional<Clock::time_point> next_alive() const { return next_alive_; }

 private:
  void send(const std::string& text) const;

  UniqueFd socket_;
  NotifyAddress address_;
  std::chrono::microseconds watchdog_{0};
  std::optional<Clock::time_point> next_alive_;
};

}  // namespace ioc_exporter::app
