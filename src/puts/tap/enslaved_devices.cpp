#include "puts/tap/enslaved_devices.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <optional>
#include <string_view>

namespace ioc_exporter::puts {
namespace {

constexpr const char* kAction = "list network devices";

// "bridge", "bond", "vrf"; "" for none.
std::string_view slave_kind(std::span<const std::byte> attributes) {
  const auto info = netlink_attribute(attributes, IFLA_LINKINFO);
  const auto kind = info ? netlink_attribute(*info, IFLA_INFO_SLAVE_KIND) : std::nullopt;
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
    if (netlink_attribute(attributes, IFLA_MASTER) && slave_kind(attributes) != "vrf")
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

}  // namespace ioc_exporter::puts
