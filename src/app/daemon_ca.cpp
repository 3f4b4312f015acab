// The part of Daemon that tells the Channel Access tap where to look.
#include <spdlog/spdlog.h>
#include <sys/vfs.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "app/daemon.h"
#include "ca/ports.h"

namespace ioc_exporter::app {
namespace {

constexpr std::chrono::seconds kLettingGoInterval{30};
constexpr decltype(std::declval<struct statfs>().f_type) kBpfFs = 0xcafe4a11;  // linux/magic.h

// What looks around beside an exporter that runs must not take its table away. A folder that nobody
// asked for is used where a bpffs is mounted.
std::string pin_directory(const Options& options) {
  if (options.check || options.once) return "";
  if (!options.ca.pin_is_default) return options.ca.pin_directory;
  const std::string mounted =
      options.ca.pin_directory.substr(0, options.ca.pin_directory.rfind('/'));
  struct statfs status {};
  const bool is_bpffs = ::statfs(mounted.c_str(), &status) == 0 && status.f_type == kBpfFs;
  return is_bpffs ? options.ca.pin_directory : "";
}

}  // namespace

Result<void> Daemon::load_tap(const Options& options) {
  ca::CaTapOptions tap_options;
  tap_options.fs = fs_;
  tap_options.sizes.max_channels = options.ca.max_channels;
  tap_options.sizes.max_circuits = options.ca.max_circuits;
  tap_options.remote_servers = options.ca.remote_servers;
  tap_options.pin_directory = pin_directory(options);
  auto tap = ca::CaTap::start(std::move(tap_options));
  if (!tap) return std::move(tap).error();
  tap_.emplace(std::move(*tap));
  if (!tap_->pin_report().empty()) spdlog::info("{}", tap_->pin_report());
  return {};
}

Result<void> Daemon::load_udp(const Options& options) {
  ca::CaUdpOptions udp_options;
  udp_options.remote = options.ca.remote_servers;
  auto udp = ca::CaUdp::start(tap_->shared_maps(), udp_options);
  if (!udp) return std::move(udp).error();
  udp_.emplace(std::move(*udp));
  return {};
}

// The IOCs, and what the tap calls the network namespaces in which they run.
std::vector<IocWatch::Served> Daemon::served() const {
  std::vector<IocWatch::Served> served = iocs_->served();
  for (IocWatch::Served& one : served) one.net = namespaces_.number(one.ioc->net_namespace);
  return served;
}

// At the ports of the IOCs, and at those where one is likely to appear: its first clients are there
// within milliseconds, and their channels get their names only if they are seen. At every other
// listener for as long as nobody has told what it speaks.
void Daemon::serve_ports(Clock::time_point now) {
  if (!tap_) return;
  ca::CaUdp* const udp = udp_ ? &*udp_ : nullptr;
  report("count puts in other network namespaces",
         namespaces_.update(iocs_->served(), *tap_, udp, now));
  iocs_->set_network_problems(namespaces_.problems());

  std::vector<ca::CaServer> learned;
  auto found = tap_->learned(now);
  report("read which servers were learned", found ? Result<void>() : found.error());
  if (found) learned = std::move(*found);
  const auto net_of = [this](std::uint64_t inode) { return namespaces_.number(inode); };
  for (const iocs::Listener& listener :
       judge_.take_in(finder_.unclaimed(), tap_->take_verdicts(), learned, net_of, now))
    finder_.speaks_ca(listener);
  addressed_.take_in(addressed_now(learned), *iocs_, now);
  let_addressed_go(now);

  if (udp) {
    ca::CaPorts ports;
    for (const std::uint32_t net : namespaces_.numbers())
      for (const std::uint16_t port : {ca::kCaServerPort, ca::kCaRepeaterPort})
        ports.insert({net, port, 0});
    tap_->set_udp_ports(std::move(ports));
  }
  report("watch the ports of IOCs", tap_->set_servers(places_of_servers(served()), now));
  for (const std::uint32_t number : iocs_->take_forgotten())
    report("forget the puts of an IOC that is gone", tap_->forget(number));
}

// Of two for the same place the later one counts.
std::vector<ca::CaServer> Daemon::places_of_servers(
    const std::vector<IocWatch::Served>& served) const {
  std::vector<ca::CaServer> servers = judge_.candidates();
  auto taken = judge_.taken();
  std::vector<ca::CaServer> iocs;
  for (const IocWatch::Served& one : served) {
    if (!one.net) continue;
    for (const auto& socket : one.ioc->listening) {
      iocs.push_back(ca::ca_server(socket, *one.net, one.number));
      taken.emplace(*one.net, socket.port);
    }
  }
  const std::vector<std::uint32_t> nets = namespaces_.numbers();
  for (const std::uint32_t net : nets)
    for (const std::uint16_t port : server_ports_)
      if (!taken.contains({net, port}))
        servers.push_back({{}, port, ca::kCaIocToCome, net, false});
  const auto addressed = addressed_.servers(nets);
  servers.insert(servers.end(), addressed.begin(), addressed.end());
  servers.insert(servers.end(), iocs.begin(), iocs.end());
  return servers;
}

// Servers elsewhere that clients talk to, and listeners here whose process is not seen.
std::vector<ca::CaServer> Daemon::addressed_now(
    const std::vector<ca::CaServer>& learned) const {
  std::vector<ca::CaServer> found;
  std::ranges::copy_if(learned, std::back_inserter(found), &ca::CaServer::remote);
  for (const iocs::Listener& listener : finder_.ownerless())
    if (const auto net = namespaces_.number(listener.net_namespace))
      found.push_back(ca::ca_server(listener.socket, *net, ca::kCaIocToCome));
  return found;
}

void Daemon::let_addressed_go(Clock::time_point now) {
  if (addressed_.empty() || now < next_letting_go_) return;
  next_letting_go_ = now + kLettingGoInterval;
  auto reading = tap_->collect();
  report("read the counts of puts", reading ? Result<void>() : reading.error());
  if (!reading) return;
  std::set<std::uint32_t> in_use;
  for (const ca::CaServerCount& server : reading->servers)
    if (server.circuits > 0) in_use.insert(server.ioc);
  addressed_.let_go(in_use, *iocs_, now);
}

// After the ports were given to the tap: what opens from then on it sees itself.
void Daemon::seed_tap(Clock::time_point now) {
  if (!tap_ || iocs_->hands_off()) return;
  if (seed_anew_.exchange(false)) {
    const std::scoped_lock lock(mutex_);
    seeding_ = ca::CaSeeding(fs_);
  }
  const auto seed = [this, now](const ca::CaSeed& what) {
    const std::scoped_lock lock(mutex_);
    return tap_->seed(what, now);
  };
  // Only reap() changes what unnamed_channels() gives, in this thread.
  auto readable = served();
  std::erase_if(readable, [](const auto& one) { return !one.ioc->held.empty(); });
  seeding_.advance(readable, tap_->unnamed_channels(), seed, mutex_, now);
}

}  // namespace ioc_exporter::app
