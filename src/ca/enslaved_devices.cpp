#include "ca/enslaved_devices.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <optional>
#include <string_view>

namespace ioc_exporter::ca {
namespace {

constexpr const char* kAction = "list network devices";

// The attribute of that type, its bytes; nothing where there is none. Nested ones carry flags.
std::optional<std::span<const std::byte>> attribute(std::span<const std::byte> all, int wanted) {
  while (all.size() >= sizeof(rtattr)) {
    const rtattr header = *netlink_struct<rtattr>(all);
    if (header.rta_len < sizeof header || header.rta_len > all.size()) return std::nullopt;
    if ((header.rta_type & NLA_TYPE_MASK) == wanted)
      return all.subspan(RTA_LENGTH(0), header.rta_len - RTA_LENGTH(0));
    all = all.subspan(std::min<std::size_t>(RTA_ALIGN(header.rta_len), all.size()));
  }
  return std::nullopt;
}

// "bridge", "bond", "vrf"; "" for none.
std::string_view slave_kind(std::span<const std::byte> attributes) {
  const auto info = attribute(attributes, IFLA_LINKINFO);
  const auto kind = info ? attribute(*info, IFLA_INFO_SLAVE_KIND) : std::nullopt;
  if (!kind) return {};
  const std::string_view text(reinterpret_cast<const char*>(kind->data()), kind->size());
  return text.substr(0, text.find('\0'));
}

NetlinkVisit into_set(std::set<std::uint32_t>& devices) {
  return [&devices](std::uint16_t type, std::span<const std::byte> body) {
    const auto device = netlink_struct<ifinfomsg>(body);
    if (type != RTM_NEWLINK || !device) return;
    const auto attributes =
        body.subspan(std::min<std::size_t>(NLMSG_ALIGN(sizeof *device), body.size()));
    if (attribute(attributes, IFLA_MASTER) && slave_kind(attributes) != "vrf")
      devices.insert(static_cast<std::uint32_t>(device->ifi_index));
  };
}

}  // namespace

Result<bool> read_enslaved_devices(std::span<const std::byte> answer,
                                   std::set<std::uint32_t>& into) {
  return read_netlink(answer, kAction, into_set(into));
}

Result<EnslavedDevices> EnslavedDevices::open() {
  auto netlink = Netlink::open(NETLINK_ROUTE, kAction);
  if (!netlink) return std::move(netlink).error();
  return EnslavedDevices(std::move(*netlink));
}

Result<std::set<std::uint32_t>> EnslavedDevices::read() {
  std::set<std::uint32_t> devices;
  auto asked = netlink_.ask(RTM_GETLINK, NLM_F_DUMP, ifinfomsg{}, kAction, into_set(devices));
  if (!asked) return asked.error();
  return devices;
}

}  // namespace ioc_exporter::ca
