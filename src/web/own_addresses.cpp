#include "web/own_addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <array>
#include <memory>

#include "web/message.h"
#include "web/own_sockets.h"

namespace ioc_exporter::web {
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
