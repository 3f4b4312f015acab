#include "web/client_address.h"

#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>

#include <string_view>

#include "base/netlink.h"

namespace ioc_exporter::web {

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

// Not by getifaddrs(), which binds a socket: a filter of system calls cannot distinguish it.
bool is_own_address(const std::string& address) {
  const std::string plain = plain_address(address);
  if (plain.starts_with("127.") || plain == "::1") return true;
  const std::string asked = plain.substr(0, plain.find('%'));  // a link's own has it in its text
  in_addr v4{};
  in6_addr v6{};
  if (::inet_pton(AF_INET, asked.c_str(), &v4) == 1)
    return v4.s_addr != INADDR_ANY && leads_here(AF_INET, v4);
  return ::inet_pton(AF_INET6, asked.c_str(), &v6) == 1 && leads_here(AF_INET6, v6);
}

}  // namespace ioc_exporter::web
