#include "base/net_namespace.h"

#include <sched.h>

#include <system_error>
#include <thread>

namespace ioc_exporter {

Result<void> in_net_namespace(int ns_fd, const std::function<void()>& work) {
  Result<void> entered;
  try {
    std::thread([&] {
      if (::setns(ns_fd, CLONE_NEWNET) == 0)
        work();
      else
        entered = last_error("enter network namespace");
    }).join();
  } catch (const std::system_error& error) {
    return Error{error.code(), "start a thread for another network namespace"};
  }
  return entered;
}

}  // namespace ioc_exporter
