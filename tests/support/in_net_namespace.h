// Work in another network namespace.
#pragma once

#include <sched.h>

#include <cerrno>
#include <functional>
#include <thread>

#include "base/result.h"

namespace ioc_exporter::testing {

// Calls `work` once in the network namespace of `ns_fd` (an open /proc/PID/ns/net), on a thread of
// its own that ends with it: the caller's namespace never changes. What is opened there (sockets)
// stays in that namespace.
inline Result<void> in_net_namespace(int ns_fd, const std::function<void()>& work) {
  Result<void> entered;
  std::thread([&] {
    if (::setns(ns_fd, CLONE_NEWNET) == 0)
      work();
    else
      entered = last_error("enter network namespace");
  }).join();
  return entered;
}

}  // namespace ioc_exporter::testing
