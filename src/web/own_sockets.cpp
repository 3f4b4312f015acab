#include "web/own_sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/netlink.h"
#include "base/rooted_fs.h"
#include "base/unique_fd.h"
#include "web/message.h"

namespace ioc_exporter::web {
namespace {

// Port of the socket's own end; 0 when it is no TCP socket.
std::uint16_t local_port(int fd) {
  int type = 0;
  socklen_t type_size = sizeof type;
  if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size) != 0 || type != SOCK_STREAM)
    return 0;
  sockaddr_in6 address{};  // large enough for IPv4, which has its port in the same place
  socklen_t size = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  if (address.sin6_family != AF_INET6 && address.sin6_family != AF_INET) return 0;
  return ntohs(address.sin6_port);
}

}  // namespace

void visit_own_sockets(std::span<const std::uint16_t> ports,
                       const std::function<bool(int)>& visit) {
  const auto numbers = RootedFs().list("/proc/self/fd");
  if (!numbers) return;
  for (const std::string& number : *numbers) {
    int fd = -1;
    if (std::from_chars(number.data(), number.data() + number.size(), fd).ec != std::errc())
      continue;
    if (local_port(fd) == 0) continue;  // most are none: no duplicate for them
    const UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!copy) continue;
    const std::uint16_t port = local_port(copy.get());
    if (port != 0 && std::ranges::find(ports, port) != ports.end() && visit(copy.get())) return;
  }
}

std::string plain_address(std::string text) {
  constexpr std::string_view kMapped = "::ffff:";
  if (text.starts_with(kMapped) && text.find('.') != std::string::npos)
    text.erase(0, kMapped.size());
  return text;
}

namespace {

template <class Address>
struct RouteTo {
  rtmsg route{};
  nlattr to{sizeof(nlattr) + sizeof(Address), RTA_DST};
  Address address{};
};

template <class Address>
bool leads_here(unsigned char family, const Address& address) {
  constexpr const char* kAction = "look whether an address is the host's own";
  RouteTo<Address> request{.address = address};
  request.route.rtm_family = family;
  request.route.rtm_dst_len = static_cast<unsigned char>(8 * sizeof address);
  bool here = false;
  auto netlink = Netlink::open(NETLINK_ROUTE, kAction);
  if (netlink)
    (void)netlink->ask(RTM_GETROUTE, 0, request, kAction, [&here](std::uint16_t, auto body) {
      const auto route = netlink_struct<rtmsg>(body);
      here |= route && route->rtm_type == RTN_LOCAL;
    });
  return here;
}

}  // namespace

// Not by getifaddrs(), which binds a socket: no filter of system calls tells it from others.
bool is_own_address(const std::string& address) {
  if (place_of(address) == "local") return true;
  const std::string plain = plain_address(address);
  const std::string asked = plain.substr(0, plain.find('%'));  // a link's own has it in its text
  in_addr v4{};
  in6_addr v6{};
  if (::inet_pton(AF_INET, asked.c_str(), &v4) == 1)
    return v4.s_addr != INADDR_ANY && leads_here(AF_INET, v4);
  return ::inet_pton(AF_INET6, asked.c_str(), &v6) == 1 && leads_here(AF_INET6, v6);
}

}  // namespace ioc_exporter::web
