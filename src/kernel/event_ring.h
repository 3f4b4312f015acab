// EventRing: a ring buffer map that programs of several objects write events to, and the one reader
// of it. It outlives those objects' loading: they share its descriptor.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>

#include "base/result.h"

namespace ioc_exporter::kernel {

// Parameters of an object that writes to a ring.
struct RingUse {
  int fd = -1;                    // -1: there is none, and its programs go without
  int shares = -1;                // RingShares of it
  std::uint32_t size = 0;         // of the ring
  std::uint32_t value_bytes = 0;  // that an event may hold of each value
  std::uint32_t wake_at = 0;      // bytes that wait, from which on the reader is woken
  std::uint64_t seed = 0;         // random: decides which owners share a place in `shares`
  bool after = false;             // values after puts, too
};

// Parameters of an object with programs for traces (bpf/traces): maps that several objects share.
struct TraceUse {
  int ring = -1;                 // -1: traces are off, and its programs go without
  int shares = -1;               // RingShares of it
  std::uint32_t size = 0;        // of the ring
  std::uint32_t wake_at = 0;     // bytes that wait in it, from which on the reader is woken
  int puts = -1, pva_puts = -1;  // bpf/traces/puts.bpf.h
  bool on() const { return ring >= 0; }
};

// Events that were lost, so far.
struct LostEvents {
  std::uint64_t no_room = 0, no_share = 0;
  std::uint64_t answers = 0;  // results of puts: not puts
  std::uint64_t all() const { return no_room + no_share; }
};

class EventRing {
 public:
  // In order, on the thread that reads. The bytes are good for the call only.
  using Each = std::function<void(std::span<const std::byte> event)>;

  // `name`: of the map, 15 characters at most; `bytes`: a power of two, and pages.
  static Result<EventRing> create(const char* name, std::uint32_t bytes);
  EventRing(EventRing&&) noexcept;
  EventRing& operator=(EventRing&&) noexcept;
  ~EventRing();

  int fd() const;
  std::uint32_t size() const;
  // That it can hold, if each has so many bytes at least.
  std::size_t most_events(std::size_t bytes) const;
  // Returns when the programs wake the reader, or after `patience`, or at once when there is
  // something to read.
  Result<void> wait(std::chrono::milliseconds patience) const;
  // Gives up to `most` events, and returns how many they were.
  Result<std::size_t> read(std::size_t most, const Each& each);
  // Until `stop`, then to the end of the ring: `read_some` reads, and says whether there is more.
  // `rest`: at the end, how many events still are, which it counts down; else nullptr. `least`:
  // bytes of an event.
  void serve(const std::stop_token& stop, std::size_t least,
             const std::function<bool(std::size_t* rest)>& read_some) const;

 private:
  struct Opened;
  explicit EventRing(std::unique_ptr<Opened> opened);
  std::unique_ptr<Opened> opened_;
};

}  // namespace ioc_exporter::kernel
