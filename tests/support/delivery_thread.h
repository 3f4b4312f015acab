// The delivery process' work in a thread of the test.
#pragma once

#include <sys/socket.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "delivery/process.h"

namespace ioc_exporter::delivery {

class DeliveryThread {
 public:
  explicit DeliveryThread(const std::vector<Cargo*>& cargo) : cargo_(cargo) {
    int ends[2] = {-1, -1};
    (void)::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
    own_.reset(ends[0]);
    its_.reset(ends[1]);
    thread_ = std::thread([this, cargo] { serve(cargo, its_.get(), true); });
    char words[4096];
    const ssize_t got = ::recv(own_.get(), words, sizeof words, 0);
    said_.assign(words, got > 0 ? static_cast<std::size_t>(got) : 0);
  }
  // Ends as the process does.
  ~DeliveryThread() {
    for (Cargo* const each : cargo_)
      each->hand_over(std::chrono::steady_clock::now() + std::chrono::seconds(60));
    own_.reset();
    thread_.join();
  }
  DeliveryThread(const DeliveryThread&) = delete;
  DeliveryThread& operator=(const DeliveryThread&) = delete;

  // ".": all files are open; else what is wrong.
  const std::string& said() const { return said_; }

 private:
  std::vector<Cargo*> cargo_;
  UniqueFd own_, its_;
  std::string said_;
  std::thread thread_;
};

}  // namespace ioc_exporter::delivery
