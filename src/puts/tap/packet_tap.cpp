#include "puts/tap/packet_tap.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "base/log.h"
#include "base/wall_clock.h"
#include "ca_packet.skel.h"
#include "kernel/libbpf_support.h"

namespace ioc_exporter::puts {
namespace {

// HelperRequest::what.
enum : std::uint32_t { kOpenTap = 64, kCloseTap };

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

void PacketTap::Unload::operator()(ca_packet_bpf* skeleton) const {
  ca_packet_bpf__destroy(skeleton);
}

void PacketTap::use_helper(std::shared_ptr<Helper> helper) {
  helper_ = std::move(helper);
  socket_.reset();  // the helper holds the same one
}

Result<void> PacketTap::load() {
  if (skeleton_) return {};
  kernel::capture_libbpf_messages();
  std::unique_ptr<ca_packet_bpf, Unload> skeleton(ca_packet_bpf__open());
  if (!skeleton) return kernel::libbpf_error(-errno, "open BPF object ca_packet");
  const auto& own = skeleton->maps;
  const std::pair<bpf_map*, int> shared[] = {{own.ca_work, maps_.work},
                                             {own.ca_drops, maps_.drops},
                                             {own.ca_programs, maps_.programs},
                                             {own.ca_watched, maps_.watched}};
  for (const auto& [map, fd] : shared)
    if (auto ok = kernel::share_map(map, fd, "ca_packet"); !ok) return ok;
  if (const int err = ca_packet_bpf__load(skeleton.get()); err < 0)
    return kernel::libbpf_error(err, "load BPF object ca_packet");
  skeleton_ = std::move(skeleton);
  return {};
}

Result<void> PacketTap::open() {
  if (is_open()) return {};
  if (helper_) {
    if (auto opened = helper_->ask({.what = kOpenTap}); !opened) return std::move(opened).error();
  } else {
    if (auto ok = load(); !ok) return ok;
    auto socket = attach(bpf_program__fd(skeleton_->progs.ca_packet));
    if (!socket) return std::move(socket).error();
    socket_ = std::move(*socket);
  }
  open_since_ns_ = clock_ns(CLOCK_MONOTONIC);
  return {};
}

void PacketTap::close() {
  if (std::exchange(open_since_ns_, 0) == 0) return;
  socket_.reset();
  if (!helper_) return;
  if (auto closed = helper_->ask({.what = kCloseTap}); !closed)
    log::error("close the packet socket of ca_tap: {}", closed.error().message());
}

bool PacketTap::is_request(const HelperRequest& request) {
  return request.what == kOpenTap || request.what == kCloseTap;
}

Result<UniqueFd> PacketTap::serve(const HelperRequest& request) {
  if (request.what == kCloseTap) {
    close();
    return UniqueFd();
  }
  if (auto ok = open(); !ok) return std::move(ok).error();
  return UniqueFd();
}

std::optional<kernel::ProgramStats> PacketTap::stats() const {
  if (!skeleton_) return std::nullopt;
  return kernel::program_stats(bpf_program__fd(skeleton_->progs.ca_packet));
}

}  // namespace ioc_exporter::puts
