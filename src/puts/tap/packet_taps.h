// The packet sockets of the tap, one a network namespace, and the program that each runs
// (bpf/tap/packet.bpf.c). Opened by this process, or by a helper process that keeps them: who holds
// such a socket can send packets.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "base/helper.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "kernel/program_stats.h"
#include "puts/tap/tap_object.h"

struct ca_packet_bpf;  // of libbpf

namespace ioc_exporter::ca {

class CaPacketTaps {
 public:
  // The object that the maps are of must outlive this.
  explicit CaPacketTaps(const CaSharedMaps& maps) : maps_(maps) {}

  // From now on the helper opens and closes them: a process that was forked from this one, and has
  // those that are open.
  void use_helper(std::shared_ptr<Helper> helper);
  // In the helper: NetRequest::load_tap and the others of taps. It gives the program when it is
  // loaded.
  Result<UniqueFd> serve(const HelperRequest& request, const UniqueFd& ns);

  // Loads the program for the namespace with that number, if it is not loaded.
  Result<void> load(std::uint32_t net);
  // Lets it see all packets of the namespace of `ns_fd`; -1: the calling thread's.
  Result<void> open(std::uint32_t net, int ns_fd);
  // No packet of the namespace is looked at when it has returned.
  void close(std::uint32_t net);
  void drop(std::uint32_t net);

  std::uint64_t count() const;  // of those that are open
  // Of all that are or were there, with the programs that they call: the kernel counts a tail call
  // as the caller's.
  std::optional<kernel::ProgramStats> stats() const;

 private:
  struct Unload {
    void operator()(ca_packet_bpf* skeleton) const;
  };
  struct Tap {
    std::unique_ptr<ca_packet_bpf, Unload> skeleton;  // null: the helper has it
    UniqueFd program;                                 // the helper's, to ask about
    UniqueFd socket;                                  // closed before the skeleton goes
    bool open = false;
    int fd() const;  // of the program
  };

  Result<void> load_here(std::uint32_t net, Tap& tap) const;

  CaSharedMaps maps_;
  std::map<std::uint32_t, Tap> taps_;
  std::optional<kernel::ProgramStats> past_;
  std::shared_ptr<Helper> helper_;
};

}  // namespace ioc_exporter::ca
