#include "web/own_sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string_view>

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

std::string text_of(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = nullptr;
  if (address.sa_family == AF_INET) bytes = &reinterpret_cast<const sockaddr_in&>(address).sin_addr;
  if (address.sa_family == AF_INET6)
    bytes = &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  if (bytes == nullptr) return {};
  const char* const made = ::inet_ntop(address.sa_family, bytes, text.data(), text.size());
  return made == nullptr ? "" : made;
}

}  // namespace

bool is_own_address(const std::string& address) {
  if (place_of(address) == "local") return true;
  const std::string plain = plain_address(address);
  const std::string asked = plain.substr(0, plain.find('%'));  // a link's own has it in its text
  ifaddrs* first = nullptr;
  if (asked.empty() || ::getifaddrs(&first) != 0) return false;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> all(first, &::freeifaddrs);
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next)
    if (one->ifa_addr != nullptr && text_of(*one->ifa_addr) == asked) return true;
  return false;
}

}  // namespace ioc_exporter::web
