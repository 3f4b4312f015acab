#include "base/socket_cookies.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace ioc_exporter {
namespace {

constexpr const char* kAction = "ask the kernel for a TCP socket (inet_diag)";
// include/net/tcp_states.h
constexpr std::uint8_t kTimeWait = 6, kClose = 7, kListen = 10;

struct Request {
  nlmsghdr header;
  inet_diag_req_v2 body;
};

bool is_v4(const iocx_ca_address& address) {
  constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  return std::equal(kMapped.begin(), kMapped.end(), address.bytes);
}

// As inet_diag has addresses: the first word alone for IPv4.
void set_address(__be32 (&to)[4], const iocx_ca_address& address, bool v4) {
  if (v4)
    std::memcpy(to, address.bytes + 12, 4);
  else
    std::memcpy(to, address.bytes, sizeof to);
}

Request make_request(const iocx_ca_flow_key& key, bool server_end) {
  Request request{};
  const bool v4 = is_v4(key.server);
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.body.sdiag_family = v4 ? AF_INET : AF_INET6;
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_states = UINT32_MAX;
  inet_diag_sockid& id = request.body.id;
  set_address(id.idiag_src, server_end ? key.server : key.client, v4);
  set_address(id.idiag_dst, server_end ? key.client : key.server, v4);
  id.idiag_sport = htons(server_end ? key.server_port : key.client_port);
  id.idiag_dport = htons(server_end ? key.client_port : key.server_port);
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return request;
}

// Nothing: no such connection. The kernel may give the listener in its place.
Result<std::optional<std::uint64_t>> read_answer(int fd) {
  alignas(nlmsghdr) std::array<char, 8192> buffer;
  const ssize_t length = ::recv(fd, buffer.data(), buffer.size(), 0);
  if (length < 0) return last_error(kAction);
  nlmsghdr header;
  if (static_cast<std::size_t>(length) < sizeof header) return error_from_errno(EPROTO, kAction);
  std::memcpy(&header, buffer.data(), sizeof header);
  if (header.nlmsg_type == NLMSG_ERROR) {
    nlmsgerr error{};
    std::memcpy(&error, buffer.data() + NLMSG_HDRLEN, sizeof error);
    if (error.error == -ENOENT) return std::optional<std::uint64_t>();
    return error_from_errno(-error.error, kAction);
  }
  inet_diag_msg found{};
  if (static_cast<std::size_t>(length) < NLMSG_HDRLEN + sizeof found)
    return error_from_errno(EPROTO, kAction);
  std::memcpy(&found, buffer.data() + NLMSG_HDRLEN, sizeof found);
  if (found.idiag_state == kListen || found.idiag_state == kTimeWait || found.idiag_state == kClose)
    return std::optional<std::uint64_t>();
  return std::optional<std::uint64_t>(found.id.idiag_cookie[0] |
                                      std::uint64_t{found.id.idiag_cookie[1]} << 32);
}

}  // namespace

Result<SocketCookies> SocketCookies::open() {
  UniqueFd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!fd) return last_error(kAction);
  SocketCookies cookies(std::move(fd));
  if (auto ok = cookies.check(); !ok) return ok.error();
  return cookies;
}

// A kernel without inet_diag answers a question for one socket as if that were not there: ENOENT
// (__sock_diag_cmd()). A list of the sockets in no state at all comes to its end only with it.
Result<void> SocketCookies::check() const {
  Request request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.body.sdiag_family = AF_INET;
  request.body.sdiag_protocol = IPPROTO_TCP;
  if (::send(fd_.get(), &request, sizeof request, 0) < 0) return last_error(kAction);
  alignas(nlmsghdr) std::array<char, 8192> buffer;
  const ssize_t length = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
  if (length < 0) return last_error(kAction);
  nlmsghdr header{};
  std::int32_t error = 0;  // what NLMSG_ERROR and NLMSG_DONE both begin with
  if (static_cast<std::size_t>(length) < NLMSG_HDRLEN + sizeof error)
    return error_from_errno(EPROTO, kAction);
  std::memcpy(&header, buffer.data(), sizeof header);
  std::memcpy(&error, buffer.data() + NLMSG_HDRLEN, sizeof error);
  if (header.nlmsg_type != NLMSG_ERROR && header.nlmsg_type != NLMSG_DONE)
    return error_from_errno(EPROTO, kAction);
  if (error < 0) return error_from_errno(-error, kAction);
  return {};
}

Result<std::optional<std::uint64_t>> SocketCookies::find(const iocx_ca_flow_key& connection) const {
  for (const bool server_end : {true, false}) {
    const Request request = make_request(connection, server_end);
    if (::send(fd_.get(), &request, sizeof request, 0) < 0) return last_error(kAction);
    auto found = read_answer(fd_.get());
    if (!found || *found) return found;
  }
  return std::optional<std::uint64_t>();
}

}  // namespace ioc_exporter
