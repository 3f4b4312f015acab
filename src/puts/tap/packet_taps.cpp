#include "puts/tap/packet_taps.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "base/netlink.h"
#include "ca_packet.skel.h"
#include "kernel/libbpf_support.h"
#include "shared/ca_servers.h"

namespace ioc_exporter::ca {
namespace {

HelperRequest request_of(NetRequest what, std::uint32_t net) {
  return {.what = static_cast<std::uint32_t>(what), .number = net};
}

// A socket in the calling thread's network namespace that runs the program on every packet that
// passes its interfaces. The program runs until the descriptor is closed; when that has returned,
// it runs nowhere any more (packet_release() waits for it).
Result<UniqueFd> attach(int program) {
  // Protocol 0: the socket sees nothing before it is bound, and then it has its filter.
  UniqueFd fd(::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd) return last_error("open packet socket for ca_tap");
  if (::setsockopt(fd.get(), SOL_SOCKET, SO_ATTACH_BPF, &program, sizeof program) != 0)
    return last_error("attach BPF program ca_packet to its packet socket");
  sockaddr_ll everywhere{};
  everywhere.sll_family = AF_PACKET;
  everywhere.sll_protocol = htons(ETH_P_ALL);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&everywhere), sizeof everywhere) != 0)
    return last_error("bind packet socket of ca_tap to all interfaces");
  return fd;
}

}  // namespace

void CaPacketTaps::Unload::operator()(ca_packet_bpf* skeleton) const {
  ca_packet_bpf__destroy(skeleton);
}

int CaPacketTaps::Tap::fd() const {
  return skeleton ? bpf_program__fd(skeleton->progs.ca_packet) : program.get();
}

void CaPacketTaps::use_helper(std::shared_ptr<Helper> helper) {
  helper_ = std::move(helper);
  for (auto& [net, tap] : taps_) tap.socket.reset();  // the helper holds the same one
}

Result<void> CaPacketTaps::load_here(std::uint32_t net, Tap& tap) const {
  kernel::capture_libbpf_messages();
  tap.skeleton.reset(ca_packet_bpf__open());
  if (!tap.skeleton) return kernel::libbpf_error(-errno, "open BPF object ca_packet");
  tap.skeleton->rodata->cfg_net = net;
  const auto& own = tap.skeleton->maps;
  const std::pair<bpf_map*, int> shared[] = {{own.ca_work, maps_.work},
                                             {own.ca_drops, maps_.drops},
                                             {own.ca_programs, maps_.programs},
                                             {own.ca_watched, maps_.watched}};
  for (const auto& [map, fd] : shared)
    if (auto ok = kernel::share_map(map, fd, "ca_packet"); !ok) return ok;
  if (const int err = ca_packet_bpf__load(tap.skeleton.get()); err < 0)
    return kernel::libbpf_error(err, "load BPF object ca_packet");
  return {};
}

Result<void> CaPacketTaps::load(std::uint32_t net) {
  if (taps_.contains(net)) return {};
  Tap tap;
  if (helper_) {
    auto program = helper_->ask(request_of(NetRequest::load_tap, net));
    if (!program) return std::move(program).error();
    tap.program = std::move(*program);
  } else if (auto ok = load_here(net, tap); !ok) {
    return ok;
  }
  taps_.emplace(net, std::move(tap));
  return {};
}

Result<void> CaPacketTaps::open(std::uint32_t net, int ns_fd) {
  if (auto ok = load(net); !ok) return ok;
  Tap& tap = taps_.at(net);
  if (tap.open) return {};
  if (helper_) {
    auto opened = helper_->ask(request_of(NetRequest::open_tap, net), ns_fd);
    if (!opened) return std::move(opened).error();
  } else {
    Result<UniqueFd> socket = UniqueFd();
    const auto attach_here = [&] { socket = attach(tap.fd()); };
    if (ns_fd < 0)
      attach_here();
    else if (auto entered = in_net_namespace(ns_fd, attach_here); !entered)
      return entered;
    if (!socket) return std::move(socket).error();
    tap.socket = std::move(*socket);
  }
  tap.open = true;
  return {};
}

void CaPacketTaps::close(std::uint32_t net) {
  const auto tap = taps_.find(net);
  if (tap == taps_.end() || !std::exchange(tap->second.open, false)) return;
  tap->second.socket.reset();
  if (!helper_) return;
  if (auto closed = helper_->ask(request_of(NetRequest::close_tap, net)); !closed)
    log::error("close the packet socket of ca_tap: {}", closed.error().message());
}

void CaPacketTaps::drop(std::uint32_t net) {
  const auto tap = taps_.find(net);
  if (tap == taps_.end()) return;
  close(net);
  kernel::add_stats(past_, kernel::program_stats(tap->second.fd()));
  if (helper_)
    if (auto dropped = helper_->ask(request_of(NetRequest::drop_tap, net)); !dropped)
      log::error("drop the program of ca_tap: {}", dropped.error().message());
  taps_.erase(tap);
}

Result<UniqueFd> CaPacketTaps::serve(const HelperRequest& request, const UniqueFd& ns) {
  const std::uint32_t net = request.number;
  // The number is an index into the programs' maps. 0 is the exporter's own, the others are not.
  if (net >= IOCX_CA_NAMESPACES) return error_in_words("tap: no such namespace is served");
  switch (static_cast<NetRequest>(request.what)) {
    case NetRequest::load_tap: {
      if (auto ok = load(net); !ok) return ok.error();
      UniqueFd copy(::fcntl(taps_.at(net).fd(), F_DUPFD_CLOEXEC, 0));
      if (!copy) return last_error("give BPF program ca_packet to another process");
      return copy;
    }
    case NetRequest::open_tap:
      if ((net == 0) == static_cast<bool>(ns))
        return error_in_words("tap: the number and the namespace do not belong together");
      if (auto ok = open(net, ns.get()); !ok) return ok.error();
      return UniqueFd();
    case NetRequest::close_tap:
      close(net);
      return UniqueFd();
    case NetRequest::drop_tap:
      drop(net);
      return UniqueFd();
    default:
      return error_in_words("tap: no such request");
  }
}

std::uint64_t CaPacketTaps::count() const {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(taps_, [](const auto& entry) { return entry.second.open; }));
}

std::optional<kernel::ProgramStats> CaPacketTaps::stats() const {
  std::optional<kernel::ProgramStats> sum = past_;
  for (const auto& [net, tap] : taps_) kernel::add_stats(sum, kernel::program_stats(tap.fd()));
  return sum;
}

}  // namespace ioc_exporter::ca
