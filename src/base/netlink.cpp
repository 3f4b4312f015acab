#include "base/netlink.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

namespace ioc_exporter {
namespace {

constexpr time_t kPatienceSeconds = 5;  // the kernel answers at once, or is broken

// A datagram is 32 KiB at most, unless one message of it is larger: a device with many addresses.
constexpr std::size_t kBufferBytes = 256u << 10;

}  // namespace

Result<bool> read_netlink(std::span<const std::byte> datagram, const char* action,
                          const NetlinkVisit& visit) {
  while (!datagram.empty()) {
    const auto header = netlink_struct<nlmsghdr>(datagram);
    if (!header || header->nlmsg_len < NLMSG_HDRLEN || header->nlmsg_len > datagram.size())
      return error_in_words(std::string(action) + ": the kernel's answer is cut off");
    const auto body = datagram.subspan(NLMSG_HDRLEN, header->nlmsg_len - NLMSG_HDRLEN);
    if (header->nlmsg_type == NLMSG_DONE || header->nlmsg_type == NLMSG_ERROR) {
      // Both begin with an error, or 0. Where it is missing, a list has still come to its end.
      const auto error = netlink_struct<std::int32_t>(body);
      if (error && *error < 0) return error_from_errno(-*error, action);
      if (!error && header->nlmsg_type == NLMSG_ERROR) return error_from_errno(EPROTO, action);
      return true;
    }
    visit(header->nlmsg_type, body);
    datagram =
        datagram.subspan(std::min<std::size_t>(NLMSG_ALIGN(header->nlmsg_len), datagram.size()));
  }
  return false;
}

// The buffer is not written to here: it takes as much memory as the longest answer.
Netlink::Netlink(UniqueFd fd)
    : fd_(std::move(fd)), buffer_(std::make_unique_for_overwrite<std::byte[]>(kBufferBytes)) {}

std::optional<std::span<const std::byte>> netlink_attribute(std::span<const std::byte> all,
                                                            int wanted) {
  while (all.size() >= sizeof(rtattr)) {
    const rtattr header = *netlink_struct<rtattr>(all);
    if (header.rta_len < sizeof header || header.rta_len > all.size()) return std::nullopt;
    if ((header.rta_type & NLA_TYPE_MASK) == wanted)
      return all.subspan(RTA_LENGTH(0), header.rta_len - RTA_LENGTH(0));
    all = all.subspan(std::min<std::size_t>(RTA_ALIGN(header.rta_len), all.size()));
  }
  return std::nullopt;
}

Result<Netlink> Netlink::open(int protocol, const char* action) {
  UniqueFd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol));
  if (!fd) return last_error(action);
  const timeval patience{kPatienceSeconds, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  // Lists of routes have only those that are asked for: a router has very many.
  constexpr int kOn = 1;
  if (protocol == NETLINK_ROUTE)
    ::setsockopt(fd.get(), SOL_NETLINK, NETLINK_GET_STRICT_CHK, &kOn, sizeof kOn);
  return Netlink(std::move(fd));
}

Result<void> Netlink::exchange(const void* request, const nlmsghdr& header, const char* action,
                               const NetlinkVisit& visit) {
  if (::send(fd_.get(), request, header.nlmsg_len, 0) < 0) return last_error(action);
  for (;;) {
    const ssize_t size = ::recv(fd_.get(), buffer_.get(), kBufferBytes, MSG_TRUNC);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return last_error(action);
    if (static_cast<std::size_t>(size) > kBufferBytes)
      return error_in_words(std::string(action) + ": the kernel's answer is too long");
    const std::span answer(buffer_.get(), static_cast<std::size_t>(size));
    // Rest of an answer that was given up.
    const auto first = netlink_struct<nlmsghdr>(answer);
    if (first && first->nlmsg_seq != header.nlmsg_seq) continue;
    auto last = read_netlink(answer, action, visit);
    if (!last) return std::move(last).error();
    if (*last || (header.nlmsg_flags & NLM_F_DUMP) == 0) return {};
  }
}

}  // namespace ioc_exporter
