#include "web/own_sockets.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/rooted_fs.h"
#include "base/unique_fd.h"

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

}  // namespace ioc_exporter::web
