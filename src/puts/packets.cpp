#include "puts/packets.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/wall_clock.h"
#include "kernel/load_error.h"
#include "puts/server_probe/server_probe_object.h"

namespace ioc_exporter::puts {
namespace {

constexpr const char* kTapProbe = "ca_tap";
constexpr const char* kUdpProbe = "ca_udp";
constexpr std::chrono::seconds kUdpLookInterval{2};
constexpr const char* kBootId = "/proc/sys/kernel/random/boot_id";

std::set<std::uint16_t> ports_and(const std::vector<std::uint16_t>& more, std::uint16_t usual) {
  std::set<std::uint16_t> ports(more.begin(), more.end());
  ports.insert(usual);
  return ports;
}

RemoteServers::Options addressed_options(const Packets::Setup& setup) {
  RemoteServers::Options addressed;
  addressed.remote = setup.options.remote_servers;
  addressed.ports = ports_and(setup.options.server_ports, kCaServerPort);
  addressed.filter = setup.filter;
  addressed.keep = setup.keep_gone;
  return addressed;
}

}  // namespace

Packets::Packets(iocs::Host& host, const Setup& setup, std::shared_ptr<Totals> totals)
    : host_(host),
      ca_ports_(ports_and(setup.options.server_ports, kCaServerPort)),
      pva_ports_(ports_and(setup.options.pva_ports, kPvaServerPort)),
      totals_(std::move(totals)),
      addressed_(addressed_options(setup)) {
  if (!setup.options.enabled) return;
  if (auto loaded = load_tap(setup); !loaded) {
    why_no_tap_ = kernel::explain_load_error(loaded.error());
    why_no_udp_ = "it needs ca_tap";
  } else if (loaded = load_udp(setup.options); !loaded) {
    why_no_udp_ = kernel::explain_load_error(loaded.error());
  }
}

Result<void> Packets::load_tap(const Setup& setup) {
  TapOptions options;
  options.fs = host_.fs();
  options.sizes.max_channels = setup.options.max_channels;
  options.sizes.max_circuits = setup.options.max_circuits;
  options.remote_servers = setup.options.remote_servers;
  options.searches = setup.options.searches;
  options.ring = setup.ring;
  options.totals = totals_;
  auto tap = Tap::start(std::move(options));
  if (!tap) return std::move(tap).error();
  tap_ = std::move(*tap);
  const auto boot = host_.fs().read(kBootId);
  tap_->know(kept_.open(setup.state_folder, boot ? *boot : std::string()));
  return {};
}

Result<void> Packets::load_udp(const Options& options) {
  auto udp =
      CaUdp::start(tap_->object().shared_maps(),
                   {.sizes = {}, .remote = options.remote_servers, .searches = options.searches});
  if (!udp) return std::move(udp).error();
  udp_.emplace(std::move(*udp));
  return {};
}

std::vector<ProbeState> Packets::probes() const {
  return {{kTapProbe, why_no_tap_}, {kUdpProbe, why_no_udp_}};
}

void Packets::add_probes(SelfSamples& self) const {
  const std::uint64_t sockets = tap_ && tap_->network().packets().is_open() ? 1 : 0;
  self.probes.push_back(
      tap_ ? probe_sample(kTapProbe, true, sockets, tap_->network().packets().stats())
           : ProbeSample{kTapProbe, false, 0, {}, {}});
  self.probes.push_back({kUdpProbe, udp_.has_value(), udp_ ? sockets : 0, {}, {}});
}

bool Packets::reach(const iocs::Ioc& ioc) const {
  return ioc.own_net_namespace && tap_ && tap_->network().packets().is_open();
}

void Packets::follow(const iocs::HostView& view, Clock::time_point now) {
  if (!tap_) return;
  std::vector<TapServer> learned;
  auto found = tap_->servers().learned(now);
  trouble_.report("read which servers were learned", found ? Result<void>() : found.error());
  if (found) learned = std::move(*found);
  for (const iocs::Listener& listener :
       detector_.update(host_.listeners().unclaimed, learned, host_.own_namespace()))
    host_.speaks(listener, iocs::IocKind::other_ca);
  for (const iocs::Listener& listener : host_.listeners().unclaimed)
    if (listener.net_namespace == host_.own_namespace() &&
        tap_->circuits().unnamed_pva().contains(listener.socket.port))
      host_.speaks(listener, iocs::IocKind::other_pva);
  addressed_.add(addressed_now(learned), host_, now);
  if (!addressed_.empty()) addressed_.release_unused(tap_->circuits().in_use(), host_, now);
  watch_other_ports(now);
  trouble_.report("watch the ports of IOCs", tap_->set_servers(servers_to_watch(view), now));
}

// Where searches and beacons go, and where a listener may answer searches: who serves Channel
// Access has a UDP socket of the same port.
void Packets::watch_other_ports(Clock::time_point now) {
  if (!udp_) return;
  Ports ports{kCaServerPort, kCaRepeaterPort};
  if (now >= next_udp_look_ && !host_.listeners().unclaimed.empty()) {
    next_udp_look_ = now + kUdpLookInterval;
    auto bound = tap_->network().udp_sockets();
    trouble_.report("look for UDP sockets", bound ? Result<void>() : bound.error());
    if (bound) udp_sockets_ = std::move(*bound);
  }
  for (const std::uint16_t port : detector_.taken())
    if (udp_sockets_.contains(port)) ports.insert(port);
  tap_->servers().set_udp_ports(std::move(ports));
}

// Of a listener of the process. A port has one protocol; of a connection that begins in another one
// nothing is counted. What is no IOC may serve Channel Access at any port.
bool Packets::is_pva_port(const iocs::LiveIoc& live, std::uint16_t port) const {
  if (ca_ports_.contains(port) || live.ca_port == port) return false;
  if (pva_ports_.contains(port)) return true;
  return live.ioc.kind == iocs::IocKind::base && (live.ca_port || live.ioc.serves_pva);
}

// Of two for the same place the later one counts.
std::vector<TapServer> Packets::servers_to_watch(const iocs::HostView& view) const {
  std::vector<TapServer> servers, named;
  auto taken = detector_.taken();
  for (const auto& [id, live] : view.live()) {
    if (!live.ioc.own_net_namespace) continue;
    for (const auto& socket : live.ioc.listening) {
      if (auto server = tap_server_at(socket, live.number)) {
        server->protocol = is_pva_port(live, socket.port) ? Protocol::pva : Protocol::ca;
        named.push_back(*server);
      }
      taken.insert(socket.port);
    }
  }
  for (const std::uint16_t port : ca_ports_)
    if (!taken.contains(port)) servers.push_back({{}, port, kIocToCome, false});
  for (const std::uint16_t port : pva_ports_)
    if (!ca_ports_.contains(port)) servers.push_back({{}, port, kIocToCome, false, Protocol::pva});
  const auto addressed = addressed_.servers();
  servers.insert(servers.end(), addressed.begin(), addressed.end());
  servers.insert(servers.end(), named.begin(), named.end());
  return servers;
}

// Servers elsewhere that clients talk to, and listeners here whose process is not seen.
std::vector<TapServer> Packets::addressed_now(const std::vector<TapServer>& learned) const {
  std::vector<TapServer> found;
  std::ranges::copy_if(learned, std::back_inserter(found), &TapServer::remote);
  for (const iocs::Listener& listener : host_.listeners().ownerless)
    if (listener.net_namespace == host_.own_namespace())
      if (const auto server = tap_server_at(listener.socket, kIocToCome)) found.push_back(*server);
  return found;
}

void Packets::leave_out_probed(const iocs::HostView& view) {
  if (!tap_) return;
  ProbedPorts ports;
  std::set<std::uint16_t> others;
  for (const TapServer& server : addressed_.servers()) others.insert(server.port);
  const SourceChoice& choice = totals_->choice;
  for (const auto& [id, live] : view.live()) {
    if (!live.ioc.own_net_namespace) continue;
    for (const iocs::ListeningSocket& socket : live.ioc.listening) {
      const bool by_pva = is_pva_port(live, socket.port);
      const ServerKey server{live.number, by_pva ? Protocol::pva : Protocol::ca};
      const bool is_probed = choice.source(server) == SourceChoice::Source::server;
      if (is_probed &&
          (by_pva || (live.ca_port == socket.port && !choice.results_by_packets(server))))
        ports.emplace(socket.port, server);
      else
        others.insert(socket.port);
    }
  }
  std::erase_if(ports, [&](const auto& one) { return others.contains(one.first); });
  tap_->set_probed_ports(std::move(ports));
}

void Packets::attach() {
  if (tap_) trouble_.report("attach the packet filter again", tap_->network().packets().open());
}

void Packets::detach_all(Clock::time_point) {
  if (tap_) tap_->network().packets().close();
}

std::uint64_t Packets::open_since_ns() const {
  return tap_ ? tap_->network().packets().open_since_ns() : 0;
}

void Packets::keep_channels() {
  if (!tap_ || !kept_.is_open()) return;
  const auto open = open_circuits(*tap_, Clock::now());
  trouble_.report("keep the names of open channels", open ? kept_.write(*open) : open.error());
}

const char* Packets::probe_name() const {
  return kTapProbe;
}

Result<void> Packets::collect(Clock::time_point now) {
  return tap_ ? tap_->observe(now) : Result<void>();
}

Result<void> Packets::reap(Clock::time_point now) {
  auto reaped = tap_ ? tap_->reap(now) : Result<void>();
  auto looked = udp_ ? udp_->look(now) : Result<void>();
  return reaped ? looked : reaped;
}

Result<TapReading> Packets::read() {
  if (tap_) return tap_->collect();
  TapReading reading = sums();
  totals_->add_drops(reading.drops, kCaServerProbe, PutTotals::kTapSlots);
  return reading;
}

TapReading Packets::sums() const {
  return {totals_->read(clock_ns(CLOCK_MONOTONIC)), {}, {}, {}, {}};
}

std::optional<PutIdentity> Packets::identify(const iocx_putlog_event& event) const {
  auto who = tap_ ? tap_->channels().identify(event) : std::nullopt;
  if (who) who->by_packets = totals_->choice.packets(who->labels.server());
  return who;
}

kernel::LostEvents Packets::lost_events() const {
  return tap_ ? tap_->lost_events() : kernel::LostEvents();
}

std::string Packets::address_of_server(const iocs::HostView& view, const PutPlace& place) const {
  if (!tap_) return "";
  for (const auto& [id, live] : view.live())
    if (live.number == place.ioc && live.ca_port && live.ioc.own_net_namespace)
      return tap_->circuits().address_of_server(place, *live.ca_port);
  return "";
}

bool Packets::read_searches(PutsSamples& samples, SelfSamples& self) {
  samples.searches_missing = true;
  if (!udp_) return false;
  auto read = udp_->collect();
  if (!trouble_.report("read the counts of searches", read ? Result<void>() : read.error()))
    return false;
  samples.searches_missing = false;
  samples.searches = std::move(read->searches);
  samples.searched_names = std::move(read->names);
  samples.beacons = std::move(read->beacons);
  SelfSamples more;
  more.drops = std::move(read->drops);
  more.maps = std::move(read->maps);
  self.add(std::move(more));
  return true;
}

}  // namespace ioc_exporter::puts
