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

#include "base/helper.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace ioc_exporter {

// Calls `work` once in the network namespace of `ns_fd` (an open /proc/PID/ns/net), on a thread of
// its own that ends with it: the caller's namespace never changes, whatever fails. What is opened
// there (sockets) stays in that namespace. `work` must not throw; it has not been called when this
// gives an error.
Result<void> in_net_namespace(int ns_fd, const std::function<void()>& work);

// Tasks of a helper process that may enter namespaces, HelperRequest::what.
enum class NetRequest : std::uint32_t { netlink = 64, load_tap, open_tap, close_tap, drop_tap };
inline bool is_net_request(const HelperRequest& request) {
  return request.what >= static_cast<std::uint32_t>(NetRequest::netlink) &&
         request.what <= static_cast<std::uint32_t>(NetRequest::drop_tap);
}

// A netlink socket in the calling thread's namespace, and in another one: there by the helper, once
// there is one.
Result<UniqueFd> open_netlink_socket(int protocol);
Result<UniqueFd> open_netlink_socket_in(int ns_fd, int protocol);

// To be called before the first thread is started.
void open_netlink_by(std::shared_ptr<Helper> helper);
// In the helper: NetRequest::netlink.
Result<UniqueFd> serve_netlink(const HelperRequest& request, const UniqueFd& ns);

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
  // In the network namespace of `ns_fd` (an open /proc/PID/ns/net).
  static Result<Netlink> open_in(int ns_fd, int protocol, const char* action);

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
