// Work in another network namespace than the calling thread's.
#pragma once

#include <functional>
#include <memory>

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

}  // namespace ioc_exporter
