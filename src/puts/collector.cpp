#include "puts/collector.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "base/process_stats.h"
#include "kernel/load_error.h"

namespace ioc_exporter::ca {
namespace {

using std::chrono::seconds;

constexpr const char* kTapProbe = "ca_tap";
constexpr const char* kUdpProbe = "ca_udp";
constexpr seconds kReleaseInterval{30};
constexpr seconds kUdpLookInterval{2};
constexpr const char* kBootId = "/proc/sys/kernel/random/boot_id";

std::set<std::uint16_t> expected_ports(const Options& options) {
  std::set<std::uint16_t> ports(options.server_ports.begin(), options.server_ports.end());
  ports.insert(kCaServerPort);
  return ports;
}

RemoteServers::Options addressed_options(const CaCollector::Setup& setup) {
  RemoteServers::Options addressed;
  addressed.remote = setup.options.remote_servers;
  addressed.ports = expected_ports(setup.options);
  addressed.filter = setup.filter;
  addressed.keep = setup.keep_gone;
  return addressed;
}

}  // namespace

CaCollector::CaCollector(iocs::Host& host, const Setup& setup)
    : host_(host),
      options_(setup.options),
      server_ports_(expected_ports(setup.options)),
      pva_ports_(setup.options.pva_ports.begin(), setup.options.pva_ports.end()),
      addressed_(addressed_options(setup)),
      inventory_(host.fs(), host.reader()),
      bounds_({}) {
  pva_ports_.insert(kPvaServerPort);
  totals_->expiry = options_.put_expiry;
  if (!options_.enabled) return;
  if (auto loaded = load_tap(setup); !loaded) {
    why_no_tap_ = kernel::explain_load_error(loaded.error());
    why_no_udp_ = "it needs ca_tap";
  } else if (loaded = load_udp(); !loaded) {
    why_no_udp_ = kernel::explain_load_error(loaded.error());
  }
  if (!options_.server_probe) return;
  if (auto loaded = load_server_probe(setup); !loaded)
    why_no_server_probe_ = kernel::explain_load_error(loaded.error());
}

Result<void> CaCollector::load_tap(const Setup& setup) {
  CaTapOptions options;
  options.fs = host_.fs();
  options.sizes.max_channels = options_.max_channels;
  options.sizes.max_circuits = options_.max_circuits;
  options.remote_servers = options_.remote_servers;
  options.searches = options_.searches;
  options.ring = setup.ring;
  options.totals = totals_;
  auto tap = CaTap::start(std::move(options));
  if (!tap) return std::move(tap).error();
  tap_ = std::move(*tap);
  const auto boot = host_.fs().read(kBootId);
  tap_->know(kept_.open(setup.state_folder, boot ? *boot : std::string()));
  return {};
}

Result<void> CaCollector::load_udp() {
  CaUdpOptions options;
  options.remote = options_.remote_servers;
  options.searches = options_.searches;
  auto udp = CaUdp::start(tap_->object().shared_maps(), options);
  if (!udp) return std::move(udp).error();
  udp_.emplace(std::move(*udp));
  return {};
}

Result<void> CaCollector::load_server_probe(const Setup& setup) {
  if (auto ok = in_initial_pid_namespace(host_.fs(), "hear servers about puts"); !ok) return ok;
  auto probe = ServerProbe::start(
      {ServerProtocol::ca, std::max(options_.max_channels / 4, 1024u), setup.ring, setup.traces},
      totals_, tap_.get(), setup.budget);
  if (!probe) return std::move(probe).error();
  server_probe_.emplace(std::move(*probe));
  return {};
}

std::vector<ProbeState> CaCollector::probes() const {
  if (!options_.enabled) return {};
  std::vector<ProbeState> states = {{kTapProbe, why_no_tap_}};
  states.push_back({kUdpProbe, why_no_udp_});
  if (options_.server_probe) states.push_back({kCaServerProbe, why_no_server_probe_});
  return states;
}

void CaCollector::set_put_expiry(std::chrono::milliseconds expiry) {
  const std::scoped_lock lock(host_.mutex());
  totals_->expiry = expiry;
}

std::vector<Served> CaCollector::served() const {
  std::vector<Served> all;
  for (const auto& [id, live] : host_.live()) all.push_back({live.number, &live.ioc, live.ca_port});
  return all;
}

void CaCollector::follow(TimePoint now) {
  // If no thread has started, the tap can wait: a client's circuit is a thread of its server.
  if (!host_.listeners().rested) follow_iocs(now);
}

void CaCollector::follow_iocs(TimePoint now) {
  for (ServerProbe* const probe : {server_probe_ ? &*server_probe_ : nullptr, pva_probe_})
    if (probe != nullptr) {
      probe->leave_renamed(host_, now);
      probe->expect(host_);
    }
  if (tap_) follow_tap(now);
  // After the tap has its ports: a put that the server probe counts has been seen by the tap, too.
  if (server_probe_) server_probe_->follow(host_, now);
  if (server_probe_ && tap_) set_probed_ports();
  for (const auto& [id, live] : host_.live()) {
    if (live.ioc.kind == iocs::IocKind::pva_server)
      pva_only_.insert(live.number);
    else
      pva_only_.erase(live.number);
    if (live.ioc.own_net_namespace)
      out_of_reach_.erase(live.number);
    else
      out_of_reach_.insert(live.number);
  }
  for (const std::uint32_t number : host_.take_forgotten()) {
    pva_only_.erase(number);
    out_of_reach_.erase(number);
    for (const std::uint32_t server : {number, number | kPvaServer}) {
      if (tap_)
        trouble_.report("forget the puts of an IOC that is gone", tap_->forget(server));
      else
        totals_->forget(server);
    }
  }
}

// At the ports of the IOCs, and at those where one is likely to appear: its first clients are there
// within milliseconds, and their channels get their names only if they are seen.
void CaCollector::follow_tap(TimePoint now) {
  std::vector<CaServer> learned;
  auto found = tap_->servers().learned(now);
  trouble_.report("read which servers were learned", found ? Result<void>() : found.error());
  if (found) learned = std::move(*found);
  for (const iocs::Listener& listener :
       detector_.update(host_.listeners().unclaimed, learned, host_.own_namespace()))
    host_.speaks(listener, iocs::IocKind::ca_server);
  for (const iocs::Listener& listener : host_.listeners().unclaimed)
    if (listener.net_namespace == host_.own_namespace() &&
        tap_->circuits().unnamed_pva().contains(listener.socket.port))
      host_.speaks(listener, iocs::IocKind::pva_server);
  addressed_.add(addressed_now(learned), host_, now);
  release_addressed(now);

  watch_other_ports(now);
  trouble_.report("watch the ports of IOCs", tap_->set_servers(places_of_servers(served()), now));
}

// Where searches and beacons go, and where a listener may answer searches: who serves Channel
// Access has a UDP socket of the same port.
void CaCollector::watch_other_ports(TimePoint now) {
  if (!udp_) return;
  CaPorts ports{kCaServerPort, kCaRepeaterPort};
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
bool CaCollector::is_pva_port(const Served& one, std::uint16_t port) const {
  if (server_ports_.contains(port) || one.ca_port == port) return false;
  if (pva_ports_.contains(port)) return true;
  return one.ioc->kind == iocs::IocKind::base && (one.ca_port || one.ioc->serves_pva);
}

// Of two for the same place the later one counts.
std::vector<CaServer> CaCollector::places_of_servers(const std::vector<Served>& served) const {
  std::vector<CaServer> servers;
  auto taken = detector_.taken();
  std::vector<CaServer> named;
  for (const Served& one : served) {
    if (!one.ioc->own_net_namespace) continue;
    for (const auto& socket : one.ioc->listening) {
      const std::uint32_t number =
          is_pva_port(one, socket.port) ? one.number | kPvaServer : one.number;
      if (const auto server = ca_server(socket, number)) named.push_back(*server);
      taken.insert(socket.port);
    }
  }
  for (const std::uint16_t port : server_ports_)
    if (!taken.contains(port)) servers.push_back({{}, port, kCaIocToCome, false});
  constexpr std::uint32_t kPvaToCome = kCaIocToCome | kPvaServer;
  for (const std::uint16_t port : pva_ports_)
    if (!server_ports_.contains(port)) servers.push_back({{}, port, kPvaToCome, false});
  const auto addressed = addressed_.servers();
  servers.insert(servers.end(), addressed.begin(), addressed.end());
  servers.insert(servers.end(), named.begin(), named.end());
  return servers;
}

// Servers elsewhere that clients talk to, and listeners here whose process is not seen.
std::vector<CaServer> CaCollector::addressed_now(const std::vector<CaServer>& learned) const {
  std::vector<CaServer> found;
  std::ranges::copy_if(learned, std::back_inserter(found), &CaServer::remote);
  for (const iocs::Listener& listener : host_.listeners().ownerless)
    if (listener.net_namespace == host_.own_namespace())
      if (const auto server = ca_server(listener.socket, kCaIocToCome)) found.push_back(*server);
  return found;
}

void CaCollector::release_addressed(TimePoint now) {
  if (addressed_.empty() || now < next_release_) return;
  next_release_ = now + kReleaseInterval;
  const auto reading = read_tap();
  if (!reading) return;
  std::set<std::uint32_t> in_use;
  for (const CaServerCount& server : reading->servers)
    if (server.circuits > 0) in_use.insert(server.number);
  addressed_.release_unused(in_use, host_, now);
}

void CaCollector::tick(TimePoint now) {
  if (server_probe_) name_slots(now);
  const std::scoped_lock lock(host_.mutex());
  totals_->tick(now);
  if (host_.listeners().rested) return;
  collect_server_probe(now);
  if (tap_) trouble_.report("take over the counts of closed channels", tap_->reap(now));
  if (server_probe_) trouble_.report("free what the server's puts take", server_probe_->reap(now));
  if (udp_) trouble_.report("look at searches and beacons", udp_->look(now));
}

// Of the clients that are connected to the IOC. Without the mutex: an IOC may make us wait.
Result<CaServerTables> CaCollector::read_tables(const Served& served) const {
  const iocs::Ioc& ioc = *served.ioc;
  auto sockets = SocketTable::of_process(host_.fs(), ioc.id.pid);
  if (!sockets) return std::move(sockets).error();
  const auto is_served = [&served](std::uint16_t port) {
    if (served.ca_port) return *served.ca_port == port;
    return std::ranges::any_of(served.ioc->listening,
                               [port](const auto& socket) { return socket.port == port; });
  };
  CaPeers peers;
  auto read = sockets->for_each(SocketKind::connected, [&](const InetSocket& one) {
    if (is_served(one.local_port)) peers.insert({one.remote, one.remote_port});
  });
  if (!read) return read.error();
  if (peers.empty()) return CaServerTables{};
  auto memory = host_.reader()->memory(ioc.id);
  if (!memory) return std::move(memory).error();
  return read_ca_server(**memory, ioc.ca_server, peers,
                        "ioc " + ioc.name + " (pid " + std::to_string(ioc.id.pid) + ")");
}

// Also without the mutex.
void CaCollector::name_slots(TimePoint now) {
  if (host_.hands_off()) return;
  std::unique_lock lock(host_.mutex());
  const std::set<std::uint32_t> due = server_probe_->want_names(now);
  if (due.empty()) return;
  for (const Served& one : served()) {
    if (!one.ioc->traced_or_stopped.empty() || !due.contains(one.number)) continue;
    lock.unlock();
    const auto tables = read_tables(one);
    lock.lock();
    trouble_.report("read the names of channels", tables ? Result<void>() : tables.error());
    server_probe_->take_names(one.number, tables ? *tables : CaServerTables{}, now, Clock::now());
  }
}

void CaCollector::detach() {
  if (server_probe_) server_probe_->detach_all(Clock::now());
  if (tap_) tap_->network().packets().close();
}

void CaCollector::attach() {
  if (tap_) trouble_.report("attach the packet filter again", tap_->network().packets().open());
}

void CaCollector::keep_channels() {
  const std::scoped_lock lock(host_.mutex());
  if (!tap_ || !kept_.is_open()) return;
  const auto open = open_circuits(*tap_, Clock::now());
  trouble_.report("keep the names of open channels", open ? kept_.write(*open) : open.error());
}

// Before the tap is read: all that the server was asked for has travelled before.
void CaCollector::collect_server_probe(TimePoint now) {
  if (server_probe_) trouble_.report("read the server's puts", server_probe_->collect(now));
}

Result<CaTapReading> CaCollector::read_tap() {
  if (!tap_ && !server_probe_)
    return error_in_words("puts are counted neither from packets nor in servers");
  collect_server_probe(Clock::now());
  CaTapReading by_server;
  if (!tap_)
    by_server = {
        totals_->read(clock_ns(CLOCK_MONOTONIC)), {}, {}, totals_->drops(kCaServerProbe), {}};
  auto reading = tap_ ? tap_->collect() : Result<CaTapReading>(std::move(by_server));
  trouble_.report("read the counts of puts", reading ? Result<void>() : reading.error());
  if (!reading) return reading;
  pva_packets_ = take_pva(*reading);
  wall_clock_.update(WallClock::read());
  if (observer_ != nullptr) observer_->puts_were_read(host_.names(), reading->puts, wall_clock_);
  return reading;
}

}  // namespace ioc_exporter::ca
