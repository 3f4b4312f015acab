// Output of CaCollector: samples, families, the page at "/", who-wrote.
#include <numeric>
#include <unordered_set>
#include <utility>

#include "base/time_text.h"
#include "exposition/page.h"
#include "exposition/status_page.h"
#include "puts/collector.h"
#include "puts/server_probe/server_functions.h"
#include "puts/tables.h"
#include "puts/totals/put_families.h"
#include "puts/totals/samples_by_name.h"

namespace ioc_exporter::ca {
namespace {

// An upper estimate of what the families take.
std::size_t estimated_size(const CaSamples& samples, const exposition::HistogramEdges& edges) {
  constexpr std::size_t kLine = 110;
  return kLine *
         (samples.puts.size() * 3 + samples.pvs.size() + samples.put_failures.size() +
          samples.searches.size() + samples.ca_servers.size() * 16 + samples.ca_clients.size() * 3 +
          samples.put_durations.size() * (edges.ks().size() + 3));
}

void add_notes(const CaSamples& samples, std::vector<std::string>& notes) {
  for (const CaServerSample& server : samples.ca_servers)
    if (server.unnamed_channels > 0)
      notes.push_back("ioc " + server.ioc + ": " +
                      exposition::plural(server.unnamed_channels, "channel") +
                      " whose PV name is not known. Puts to them are counted with pv=\"\", and no "
                      "policy judges them.");
  if (const std::uint64_t unnamed = samples.unnamed_puts(); unnamed > 0)
    notes.push_back(exposition::plural(unnamed, "put") +
                    " on channels whose PV name was not known. They are counted with pv=\"\".");
}

}  // namespace

void CaCollector::read_puts(Reading& reading) {
  reading.samples.puts_missing = true;
  const std::uint64_t sockets = tap_ && tap_->network().packets().is_open() ? 1 : 0;
  reading.self.probes.push_back(
      tap_ ? probe_sample("ca_tap", true, sockets, tap_->network().packets().stats())
           : ProbeSample{"ca_tap", false, 0, {}, {}});
  reading.self.probes.push_back({"ca_udp", udp_.has_value(), udp_ ? sockets : 0, {}, {}});
  auto read = read_tap();
  if (!read) {
    reading.complete = false;
    return;
  }
  reading.samples.puts_missing = false;
  const auto names = host_.names();
  add_ca_samples(names, std::move(*read), wall_clock_, reading.samples, reading.self);
  const auto each_of = [&](const std::map<std::uint32_t, std::uint64_t>& counts, auto set) {
    for (const auto& [number, count] : counts)
      if (const auto name = names.find(number); name != names.end())
        for (CaServerSample& server : reading.samples.ca_servers)
          if (server.ioc == name->second) set(server, count);
  };
  each_of(totals_->to_others_channels,
          [](auto& server, std::uint64_t puts) { server.to_others_channels = puts; });
  const auto add_unnamed = [](auto& server, std::uint64_t channels) {
    server.unnamed_channels += channels;
  };
  if (server_probe_) each_of(server_probe_->unnamed(), add_unnamed);
  if (tap_) each_of(tap_->channels().unnamed(), add_unnamed);
  for (const std::uint32_t number : out_of_reach_)
    if (const auto name = names.find(number); name != names.end())
      for (CaServerSample& server : reading.samples.ca_servers)
        if (server.ioc == name->second)
          server.open_known = server.flow_control_known = server.packets_known = false;
  std::set<std::string> without_ca;
  for (const std::uint32_t number : pva_only_)
    if (const auto name = names.find(number); name != names.end()) without_ca.insert(name->second);
  std::erase_if(reading.samples.ca_servers, [&without_ca](const CaServerSample& server) {
    return server.received_bytes == 0 && without_ca.contains(server.ioc);
  });
  reading.samples.pvs = pv_records_.resolve(host_.facts(), reading.samples.puts);
  host_.want_databases(pv_records_.take_outdated());
  if (!tap_) {
    for (CaServerSample& server : reading.samples.ca_servers)
      server.open_known = server.flow_control_known = server.packets_known = false;
    return;
  }
}

void CaCollector::read_server_probe(Reading& reading) {
  if (!options_.server_probe) return;
  reading.self.probes.push_back(sample_of(kCaServerProbe, server_probe_));
  if (server_probe_ &&
      !trouble_.report("read what the server's probes lost", server_probe_->add_to(reading.self)))
    reading.complete = false;
}

void CaCollector::read_sources(SelfSamples& self) const {
  const auto heard = server_probe_ ? server_probe_->heard() : std::set<std::uint32_t>();
  for (const auto& [id, live] : host_.live()) {
    PutSourceSample sample{live.ioc.name, "ca", "none"};
    if (live.ioc.kind == iocs::IocKind::pva_server) continue;
    if (heard.contains(live.number)) {
      sample.source = "server";
      self.ioc_overhead.push_back(
          {live.ioc.name, kCaServerProbe,
           seconds_of_puts(live.ioc, ServerProtocol::ca, totals_->by_server[live.number])});
    } else if (is_tapped(live.ioc) && tap_->who_counts().by_packets(live.number)) {
      sample.source = "packets";
    }
    if (server_probe_)
      if (const auto found = server_probe_->unheard().find(live.number);
          found != server_probe_->unheard().end())
        sample.why = found->second;
    if (sample.source == "none") sample.why = why_not_counted(live.ioc, std::move(sample.why));
    self.put_sources.push_back(std::move(sample));
  }
  if (!tap_) return;
  const auto names = host_.names();
  for (const auto& [number, switches] : tap_->who_counts().switches())
    if (const auto name = names.find(number); name != names.end())
      self.put_switches.push_back({name->second, "ca", switches});
}

// Under the mutex.
std::vector<SocketOwner> CaCollector::socket_owners() const {
  std::vector<SocketOwner> owners;
  for (const auto& [id, live] : host_.live())
    owners.push_back({id, live.ioc.net_namespace, live.ioc.name, live.ioc.listening});
  return owners;
}

// Without the mutex: an IOC may make us wait. Where only packets count puts, they count
// connections, too.
void CaCollector::look_at_servers() {
  std::vector<CaInventory::Server> servers;
  std::vector<SocketOwner> gateways, with_clients;
  {
    const std::scoped_lock lock(host_.mutex());
    with_clients = socket_owners();
    for (const auto& [id, live] : host_.live()) {
      if (live.ioc.is_gateway) gateways.push_back({id, live.ioc.net_namespace});
      const iocs::Ioc& ioc = live.ioc;
      if (!server_probe_ || ioc.kind != iocs::IocKind::base || ioc.ca_server.empty()) continue;
      CaInventory::Server& server = servers.emplace_back();
      server.id = id;
      server.ioc = ioc.name;
      server.symbols = ioc.ca_server;
      server.net_namespace = ioc.net_namespace;
      if (live.ca_port)
        server.ports = {*live.ca_port};
      else
        for (const auto& socket : ioc.listening) server.ports.insert(socket.port);
      if (host_.left_alone(live))
        server.left_alone = host_.hands_off() ? "all probes are detached" : ioc.traced_or_stopped;
    }
  }
  inventory_.look(std::move(servers));
  gateways_.look(host_.fs(), gateways, with_clients, options_.remote_servers);
}

void CaCollector::read_searches(Reading& reading) {
  reading.samples.searches_missing = true;
  if (!udp_) {
    reading.complete = false;
    return;
  }
  auto read = udp_->collect();
  if (!trouble_.report("read the counts of searches", read ? Result<void>() : read.error())) {
    reading.complete = false;
    return;
  }
  reading.samples.searches_missing = false;
  reading.samples.searches = std::move(read->searches);
  reading.samples.searched_names = std::move(read->names);
  reading.samples.beacons = std::move(read->beacons);
  SelfSamples self;
  self.drops = std::move(read->drops);
  self.maps = std::move(read->maps);
  reading.self.add(std::move(self));
}

// Under the mutex.
CaCollector::Reading CaCollector::read() {
  Reading reading;
  if (!options_.enabled) {
    reading.samples.puts_missing = reading.samples.searches_missing = true;
    return reading;
  }
  read_puts(reading);
  read_server_probe(reading);
  read_sources(reading.self);
  inventory_.add_to(reading.samples);
  reading.samples.pending_puts = read_pending();
  reading.self.add(inventory_.drops());
  read_searches(reading);
  reading.self.states.push_back(kept_.sample());
  return reading;
}

void CaCollector::collect(exposition::Page& page) {
  if (options_.enabled) look_at_servers();
  Reading reading;
  std::unordered_set<std::string> names;
  {
    const std::scoped_lock lock(host_.mutex());
    reading = read();
    names = host_.known_names();
  }
  // Samples without an IOC are always shown.
  bounds_.apply(reading.samples,
                [&](const std::string& name) { return name.empty() || names.contains(name); });
  gateways_.add_to(reading.samples, false);
  page.complete = reading.complete;
  page.self.add(std::move(reading.self));
  for (LimitedSample& limited : bounds_.limited()) page.self.limited.push_back(std::move(limited));
  const auto edges = exposition::HistogramEdges::of_puts(bounds_.edge_step());
  page.encoder.reserve(estimated_size(reading.samples, edges));
  encode_ca(reading.samples, edges, page.encoder, page.shared);
}

void CaCollector::status(exposition::StatusPage& page) {
  if (options_.enabled) look_at_servers();
  Reading reading;
  exposition::StatusTable latest;
  const double now = now_seconds();
  {
    const std::scoped_lock lock(host_.mutex());
    reading = read();
    latest = puts_table(reading.samples, now, [this](const PutSample& put) {
      return observer_ == nullptr ? std::string_view() : observer_->verdict(put);
    });
    for (const auto& [id, live] : host_.live())
      if (exposition::StatusIoc* const row = page.find_ioc(live.ioc.name))
        if (const std::string stepped = options_.server_probe ? stepped_functions(live.ioc) : "";
            !stepped.empty())
          row->notes.push_back("single-stepped, so that each put takes longer: " + stepped + ".");
  }
  const CaSamples& samples = reading.samples;
  Rates::Counts counts;
  for (const exposition::StatusIoc& ioc : page.iocs)
    if (ioc.up) counts[ioc.name] = 0;
  for (const PutSourceSample& one : reading.self.put_sources)
    if (one.source == "none") counts.erase(one.ioc);
  for (const PutSample& put : samples.puts)
    if (const auto count = counts.find(put.ioc); count != counts.end()) count->second += put.count;
  double all = 0;
  const std::size_t counted = counts.size();
  const auto rates = rates_.of(std::move(counts));
  page.rates_due |= rates.size() < counted;
  for (const auto& [ioc, rate] : rates) {
    page.find_ioc(ioc)->put_rate = rate;
    all += rate;
  }
  for (const CaServerSample& server : samples.ca_servers) {
    exposition::StatusIoc* const row = page.find_ioc(server.ioc);
    if (row == nullptr || !row->up || !server.open_known) continue;
    row->circuits = server.circuits;
    row->channels =
        std::accumulate(server.channels.begin(), server.channels.end(), std::uint64_t{0});
  }
  for (const PutSourceSample& one : reading.self.put_sources)
    if (exposition::StatusIoc* const row = page.find_ioc(one.ioc);
        row != nullptr && !one.why.empty())
      row->notes.push_back(std::string("Its puts are ") +
                           (one.source == "none" ? "not counted: " : "counted from packets: ") +
                           one.why + ".");
  for (const auto& [ioc, problem] : inventory_.problems())
    if (exposition::StatusIoc* const row = page.find_ioc(ioc); row != nullptr && row->up)
      row->notes.push_back("Who is connected is not known: " + problem + ".");
  if (!rates.empty()) page.facts.push_back({exposition::rate_text(all), "puts/s"});
  page.facts.push_back({std::to_string(samples.ca_clients.size()), "clients"});
  add_notes(samples, page.notes);
  if (!kept_.problem().empty()) page.notes.push_back(kept_.problem());
  for (auto& table : {clients_table(samples), pending_table(samples, now), std::move(latest),
                      searches_table(samples, now)})
    page.tables.push_back(table);
  page.self.add(std::move(reading.self));
}

// Under the mutex. Nothing where one reading fails: the sum would be too small.
std::vector<PendingPutsSample> CaCollector::read_pending() {
  if (!server_probe_) return {};
  PendingPuts pending;
  auto read = server_probe_->add_pending(pending);
  if (read && more_pending_) read = more_pending_(pending);
  if (!trouble_.report("read which put-callbacks wait", read)) return {};
  return pending_samples(host_.names(), std::move(pending), WallClock::read());
}

std::vector<PendingPutsSample> CaCollector::pending_puts() {
  const std::scoped_lock lock(host_.mutex());
  return read_pending();
}

WhoWrote CaCollector::who_wrote(std::string_view pv) {
  const std::scoped_lock lock(host_.mutex());
  const Reading reading = read();
  WhoWrote answer = ca::who_wrote(host_.facts(), reading.samples, pv);
  answer.problem = why_puts_are_missing(options_.enabled, reading.complete);
  return answer;
}

}  // namespace ioc_exporter::ca
