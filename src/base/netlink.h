// Netlink: asks the kernel over a netlink socket (netlink(7)) and reads the whole answer.
#pragma once

#include <linux/netlink.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace ioc_exporter {

// Struct at the begin of a message; nothing when the message is shorter.
template <class T>
std::optional<T> netlink_struct(std::span<const std::byte> bytes) {
  T value;
  if (bytes.size() < sizeof value) return std::nullopt;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// Called for each message of an answer with its type and what follows its header.
using NetlinkVisit = std::function<void(std::uint16_t type, std::span<const std::byte> body)>;

// Reads one datagram of an answer. Returns whether it says that it is the last. Errors, `action`
// first: the kernel's, and a message that is cut off.
Result<bool> read_netlink(std::span<const std::byte> datagram, const char* action,
                          const NetlinkVisit& visit);

// The attribute of that type (rtnetlink(7)), its bytes; nothing where there is none. Nested ones
// carry flags.
std::optional<std::span<const std::byte>> netlink_attribute(std::span<const std::byte> all,
                                                            int wanted);

// Not thread-safe; may be used in any thread, whatever its namespace.
class Netlink {
 public:
  // In the calling thread's network namespace, about which it asks from then on.
  static Result<Netlink> open(int protocol, const char* action);

  // Asks with one request, for one message or with NLM_F_DUMP for a list. After an error some
  // messages may have been visited. The error code of a kernel that does not answer is EAGAIN.
  template <class Body>
  Result<void> ask(std::uint16_t type, std::uint16_t flags, const Body& body, const char* action,
                   const NetlinkVisit& visit) {
    struct {
      nlmsghdr header{};
      Body body;
    } request{
        {sizeof request, type, static_cast<std::uint16_t>(flags | NLM_F_REQUEST), ++sequence_, 0},
        body};
    return exchange(&request, request.header, action, visit);
  }

 private:
  explicit Netlink(UniqueFd fd);
  Result<void> exchange(const void* request, const nlmsghdr& header, const char* action,
                        const NetlinkVisit& visit);

  UniqueFd fd_;
  std::unique_ptr<std::byte[]> buffer_;
  std::uint32_t sequence_ = 0;
};

}  // namespace ioc_exporter
