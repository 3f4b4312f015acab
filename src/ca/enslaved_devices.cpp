#include "ca/enslaved_devices.h"

#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace ioc_exporter::ca {
namespace {

constexpr const char* kLookAction = "list network devices";
constexpr std::size_t kAnswer = 256 * 1024;  // a part of an answer is 32 KiB, one device a few KiB

// The attribute of that type, its bytes; nothing where there is none. Nested ones carry flags.
std::optional<std::span<const std::byte>> attribute(std::span<const std::byte> all, int wanted) {
  while (all.size() >= sizeof(rtattr)) {
    rtattr header;
    std::memcpy(&header, all.data(), sizeof header);
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

void read_device(std::span<const std::byte> body, std::set<std::uint32_t>& into) {
  ifinfomsg device;
  if (body.size() < sizeof device) return;
  std::memcpy(&device, body.data(), sizeof device);
  const auto attributes =
      body.subspan(std::min<std::size_t>(NLMSG_ALIGN(sizeof device), body.size()));
  if (attribute(attributes, IFLA_MASTER) && slave_kind(attributes) != "vrf")
    into.insert(static_cast<std::uint32_t>(device.ifi_index));
}

}  // namespace

Result<bool> read_lower_devices(std::span<const std::byte> answer, std::set<std::uint32_t>& into) {
  while (!answer.empty()) {
    nlmsghdr header;
    if (answer.size() < sizeof header) break;
    std::memcpy(&header, answer.data(), sizeof header);
    if (header.nlmsg_len < sizeof header || header.nlmsg_len > answer.size()) break;
    const auto body = answer.subspan(NLMSG_HDRLEN, header.nlmsg_len - NLMSG_HDRLEN);
    if (header.nlmsg_type == NLMSG_DONE) return true;
    if (header.nlmsg_type == NLMSG_ERROR) {
      int error = 0;
      if (body.size() < sizeof error) break;
      std::memcpy(&error, body.data(), sizeof error);
      return error_from_errno(-error, kLookAction);
    }
    if (header.nlmsg_type == RTM_NEWLINK) read_device(body, into);
    answer = answer.subspan(std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), answer.size()));
  }
  if (!answer.empty())
    return error_in_words(std::string(kLookAction) + ": the kernel's answer is cut off");
  return false;
}

Result<LowerDevices> LowerDevices::open() {
  UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!socket) return last_error("open netlink socket to list network devices");
  return LowerDevices(std::move(socket));
}

Result<std::set<std::uint32_t>> LowerDevices::read() {
  struct {
    nlmsghdr header{};
    ifinfomsg device{};
  } request;
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = RTM_GETLINK;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.header.nlmsg_seq = ++sequence_;
  if (::send(socket_.get(), &request, sizeof request, 0) < 0) return last_error(kLookAction);
  std::vector<std::byte> answer(kAnswer);
  std::set<std::uint32_t> devices;
  for (;;) {
    const ssize_t size = ::recv(socket_.get(), answer.data(), answer.size(), MSG_TRUNC);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return last_error(kLookAction);
    if (static_cast<std::size_t>(size) > answer.size())
      return error_in_words(std::string(kLookAction) + ": the kernel's answer is too long");
    auto last =
        read_lower_devices(std::span(answer).first(static_cast<std::size_t>(size)), devices);
    if (!last) return std::move(last).error();
    if (*last) return devices;
  }
}

}  // namespace ioc_exporter::ca
