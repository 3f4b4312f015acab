// Work in another network namespace than the calling thread's.
#pragma once

#include <functional>

#include "base/result.h"

namespace ioc_exporter {

// Calls `work` once in the network namespace of `ns_fd` (an open /proc/PID/ns/net), on a thread of
// its own that ends with it: the caller's namespace never changes, whatever fails. What is opened
// there (sockets) stays in that namespace. `work` must not throw; it has not been called when this
// gives an error.
Result<void> in_net_namespace(int ns_fd, const std::function<void()>& work);

}  // namespace ioc_exporter
