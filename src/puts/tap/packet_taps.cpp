#include "puts/tap/packet_taps.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/netlink.h"
#include "shared/ca_servers.h"

namespace ioc_exporter::ca {
namespace {

HelperRequest request_of(NetRequest what, std::uint32_t net) {
  return {.what = static_cast<std::uint32_t>(what), .number = net};
}

}  // namespace

void CaPacketTaps::use_helper(std::shared_ptr<Helper> helper) {
  helper_ = std::move(helper);
  for (auto& [net, tap] : taps_) tap.socket.reset();  // the helper holds the same one
}

Result<void> CaPacketTaps::load(std::uint32_t net) {
  if (taps_.contains(net)) return {};
  Tap tap;
  if (helper_) {
    auto program = helper_->ask(request_of(NetRequest::load_tap, net));
    if (!program) return std::move(program).error();
    tap.program = std::move(*program);
  } else {
    auto filter = CaPacketFilter::load(net, maps_);
    if (!filter) return std::move(filter).error();
    tap.filter.emplace(std::move(*filter));
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
    const auto attach = [&] { socket = tap.filter->attach(); };
    if (ns_fd < 0)
      attach();
    else if (auto entered = in_net_namespace(ns_fd, attach); !entered)
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
  kernel::add_stats(past_, stats_of(tap->second));
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
      return taps_.at(net).filter->program();
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

bool CaPacketTaps::is_open(std::uint32_t net) const {
  const auto tap = taps_.find(net);
  return tap != taps_.end() && tap->second.open;
}

std::uint64_t CaPacketTaps::count() const {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(taps_, [](const auto& entry) { return entry.second.open; }));
}

std::optional<kernel::ProgramStats> CaPacketTaps::stats_of(const Tap& tap) const {
  return tap.filter ? tap.filter->stats() : kernel::program_stats(tap.program.get());
}

std::optional<kernel::ProgramStats> CaPacketTaps::stats() const {
  std::optional<kernel::ProgramStats> sum = past_;
  for (const auto& [net, tap] : taps_) kernel::add_stats(sum, stats_of(tap));
  return sum;
}

}  // namespace ioc_exporter::ca
