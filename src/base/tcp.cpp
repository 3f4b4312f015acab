#include "base/tcp.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

namespace ioc_exporter {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Result<Addresses> addresses_of(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (failed != 0) return error_in_words("find the host " + host + ": " + ::gai_strerror(failed));
  return Addresses(found, &::freeaddrinfo);
}

Result<UniqueFd> connect_one(const addrinfo& address, TcpDeadline deadline,
                             const std::string& what) {
  UniqueFd fd(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return last_error(what);
  if (::connect(fd.get(), address.ai_addr, address.ai_addrlen) == 0) return fd;
  if (errno != EINPROGRESS) return last_error(what);
  if (auto ready = wait_for(fd.get(), POLLOUT, deadline, what); !ready) return ready.error();
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) return last_error(what);
  if (error != 0) return error_from_errno(error, what);
  return fd;
}

}  // namespace

Result<void> wait_for(int fd, short events, TcpDeadline deadline, const std::string& what) {
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                          deadline - std::chrono::steady_clock::now())
                          .count();
    pollfd entry{fd, events, 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(std::max<long long>(left, 0)));
    if (ready > 0) return {};
    if (ready == 0) return error_from_errno(ETIMEDOUT, what);
    if (errno != EINTR) return last_error(what);
  }
}

Result<UniqueFd> connect_tcp(const std::string& host, const std::string& port,
                             TcpDeadline deadline) {
  const auto list = addresses_of(host, port);
  if (!list) return list.error();
  const std::string what = "connect to " + host + " port " + port;
  std::optional<Error> why;
  for (const addrinfo* address = list->get(); address != nullptr; address = address->ai_next) {
    auto fd = connect_one(*address, deadline, what);
    if (fd) return fd;
    why = std::move(fd).error();
  }
  return why ? std::move(*why) : error_in_words(what + ": it has no address");
}

}  // namespace ioc_exporter
