// The program of bpf/tap/packet.bpf.c for one network namespace, and its packet socket. Hides
// libbpf and the skeleton.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/result.h"
#include "base/unique_fd.h"
#include "kernel/program_stats.h"
#include "puts/tap/tap_object.h"

namespace ioc_exporter::ca {

class CaPacketFilter {
 public:
  // `net`: the namespace's number, less than IOCX_CA_NAMESPACES. The object that the maps are of
  // must outlive the socket of attach().
  static Result<CaPacketFilter> load(std::uint32_t net, const CaSharedMaps& maps);

  CaPacketFilter(CaPacketFilter&&) noexcept;
  CaPacketFilter& operator=(CaPacketFilter&&) noexcept;
  ~CaPacketFilter();

  // A socket in the calling thread's network namespace that runs the program on every packet that
  // passes its interfaces. The program runs until the descriptor is closed; when that has returned,
  // it runs nowhere any more (packet_release() waits for it).
  Result<UniqueFd> attach() const;

  // One more descriptor of the program.
  Result<UniqueFd> program() const;

  // Includes the programs that it calls: the kernel counts a tail call as the caller's.
  std::optional<kernel::ProgramStats> stats() const;

 private:
  struct Loaded;
  explicit CaPacketFilter(std::unique_ptr<Loaded> loaded);
  std::unique_ptr<Loaded> loaded_;
};

}  // namespace ioc_exporter::ca
