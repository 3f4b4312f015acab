// RequestSlots: how many requests are answered at a time, of all clients and of one address. What
// costs something needs a slot, from the check of its password until its answer is nearly sent.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>

namespace ioc_exporter::web {

class RequestSlots {
 public:
  // One IPv4 address, or the /64 of an IPv6 one, has a third of them at most: a client of both
  // families has two, or three.
  explicit RequestSlots(std::size_t most) : most_(most) {}

  // Holds a slot while it exists, if there was one. In any thread.
  class Slot {
   public:
    // Where the client is not `known`, only one of the first half: guesses of passwords leave the
    // other one free.
    Slot(RequestSlots& slots, const std::string& address, bool known);
    ~Slot();
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

    bool has_place() const { return has_place_; }

   private:
    RequestSlots& slots_;
    const std::string network_;
    bool has_place_;
  };

 private:
  const std::size_t most_;
  std::mutex mutex_;
  std::size_t taken_ = 0;
  std::map<std::string, std::size_t> networks_;
};

}  // namespace ioc_exporter::web
