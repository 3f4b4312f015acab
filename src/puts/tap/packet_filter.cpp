#include "puts/tap/packet_filter.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>
#include <utility>

#include "ca_packet.skel.h"
#include "kernel/libbpf_support.h"

namespace ioc_exporter::ca {

struct CaPacketFilter::Loaded {
  struct Deleter {
    void operator()(ca_packet_bpf* object) const { ca_packet_bpf__destroy(object); }
  };
  std::unique_ptr<ca_packet_bpf, Deleter> skeleton;
};

CaPacketFilter::CaPacketFilter(std::unique_ptr<Loaded> loaded) : loaded_(std::move(loaded)) {}
CaPacketFilter::CaPacketFilter(CaPacketFilter&&) noexcept = default;
CaPacketFilter& CaPacketFilter::operator=(CaPacketFilter&&) noexcept = default;
CaPacketFilter::~CaPacketFilter() = default;

Result<CaPacketFilter> CaPacketFilter::load(std::uint32_t net, const CaSharedMaps& maps) {
  kernel::capture_libbpf_messages();
  auto loaded = std::make_unique<Loaded>();
  loaded->skeleton.reset(ca_packet_bpf__open());
  if (!loaded->skeleton) return kernel::libbpf_error(-errno, "open BPF object ca_packet");
  loaded->skeleton->rodata->cfg_net = net;
  const auto& own = loaded->skeleton->maps;
  const std::pair<bpf_map*, int> shared[] = {{own.ca_work, maps.work},
                                             {own.ca_drops, maps.drops},
                                             {own.ca_programs, maps.programs},
                                             {own.ca_watched, maps.watched}};
  for (const auto& [map, fd] : shared)
    if (auto ok = kernel::share_map(map, fd, "ca_packet"); !ok) return ok.error();
  if (const int err = ca_packet_bpf__load(loaded->skeleton.get()); err < 0)
    return kernel::libbpf_error(err, "load BPF object ca_packet");
  return CaPacketFilter(std::move(loaded));
}

Result<UniqueFd> CaPacketFilter::attach() const {
  // Protocol 0: the socket sees nothing before it is bound, and then it has its filter.
  UniqueFd fd(::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd) return last_error("open packet socket for ca_tap");
  const int program = bpf_program__fd(loaded_->skeleton->progs.ca_packet);
  if (::setsockopt(fd.get(), SOL_SOCKET, SO_ATTACH_BPF, &program, sizeof program) != 0)
    return last_error("attach BPF program ca_packet to its packet socket");
  sockaddr_ll everywhere{};
  everywhere.sll_family = AF_PACKET;
  everywhere.sll_protocol = htons(ETH_P_ALL);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&everywhere), sizeof everywhere) != 0)
    return last_error("bind packet socket of ca_tap to all interfaces");
  return fd;
}

Result<UniqueFd> CaPacketFilter::program() const {
  UniqueFd copy(::fcntl(bpf_program__fd(loaded_->skeleton->progs.ca_packet), F_DUPFD_CLOEXEC, 0));
  if (!copy) return last_error("give BPF program ca_packet to another process");
  return copy;
}

std::optional<kernel::ProgramStats> CaPacketFilter::stats() const {
  return kernel::program_stats(loaded_->skeleton->progs.ca_packet);
}

}  // namespace ioc_exporter::ca
