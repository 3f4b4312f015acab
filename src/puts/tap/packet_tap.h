// The packet socket of the tap, and the program that it runs (bpf/tap/packet.bpf.c). Opened by this
// process, or by a helper process that keeps it: who holds such a socket can send packets.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/helper.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "kernel/program_stats.h"
#include "puts/tap/tap_object.h"

struct ca_packet_bpf;  // of libbpf

namespace ioc_exporter::puts {

class PacketTap {
 public:
  // The object that the maps are of must outlive this.
  explicit PacketTap(const TapSharedMaps& maps) : maps_(maps) {}

  // From now on the helper opens and closes it: a process that was forked from this one, and has
  // the one that is open.
  void use_helper(std::shared_ptr<Helper> helper);
  // In the helper.
  static bool is_request(const HelperRequest& request);
  Result<UniqueFd> serve(const HelperRequest& request);

  // Lets the program see all packets of the calling thread's network namespace.
  Result<void> open();
  // No packet is looked at when it has returned.
  void close();
  bool is_open() const { return open_since_ns_ != 0; }
  // CLOCK_MONOTONIC; 0: it is not open.
  std::uint64_t open_since_ns() const { return open_since_ns_; }

  // With the programs that it calls: the kernel counts a tail call as the caller's.
  std::optional<kernel::ProgramStats> stats() const;

 private:
  struct Unload {
    void operator()(ca_packet_bpf* skeleton) const;
  };
  Result<void> load();

  TapSharedMaps maps_;
  std::unique_ptr<ca_packet_bpf, Unload> skeleton_;
  UniqueFd socket_;  // closed before the skeleton goes
  std::uint64_t open_since_ns_ = 0;
  std::shared_ptr<Helper> helper_;
};

}  // namespace ioc_exporter::puts
