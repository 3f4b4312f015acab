// Output of PutsCollector: samples, families, the page at "/", who-wrote.
#include <algorithm>
#include <iterator>
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

namespace ioc_exporter::puts {
namespace {

// An upper estimate of what the families take.
std::size_t estimated_size(const PutsSamples& samples, const exposition::HistogramEdges& edges) {
  constexpr std::size_t kLine = 110;
  return kLine *
         (samples.puts.size() * 3 + samples.pvs.size() + samples.put_failures.size() +
          samples.searches.size() + samples.servers.size() * 16 + samples.clients.size() * 3 +
          samples.put_durations.size() * (edges.ks().size() + 3));
}

void add_notes(const PutsSamples& ca, const PutsSamples& pva, std::vector<std::string>& notes) {
  for (const ServerSample& server : ca.servers)
    if (server.unnamed_channels > 0)
      notes.push_back("ioc " + server.ioc + ": " +
                      exposition::plural(server.unnamed_channels, "channel") +
                      " whose PV name is not known. Puts to them are counted with pv=\"\", and no "
                      "policy judges them.");
  if (const std::uint64_t unnamed = ca.unnamed_puts(); unnamed > 0)
    notes.push_back(exposition::plural(unnamed, "put") +
                    " on channels whose PV name was not known. They are counted with pv=\"\".");
  if (const std::uint64_t unnamed = pva.unnamed_puts(); unnamed > 0)
    notes.push_back(exposition::plural(unnamed, "put") +
                    " by PV Access whose PV or client is not known: counted with pv=\"\".");
}

std::string note_of_source(const PutSourceSample& one) {
  const bool by_pva = one.protocol == name_of(Protocol::pva);
  return std::string("Its puts ") + (by_pva ? "by PV Access " : "") + "are " +
         (one.source == "packets"  ? "counted from packets: "
          : one.source == "server" ? "counted in its server: "
          : by_pva                 ? "not all counted: "
                                   : "not counted: ") +
         one.why + ".";
}

// Why nobody counts puts to the server; `why`: it has no probes, "" = not known.
std::string why_not_counted(const iocs::Ioc& ioc, std::string why) {
  if (ioc.own_net_namespace) return why;
  const bool is_base = ioc.kind == iocs::IocKind::base;
  return "it is in another network namespace, where packets are not read, and its server is " +
         (is_base ? "not probed" + (why.empty() ? why : ": " + why) : "not that of EPICS Base");
}

// Calls set(sample, value) for the servers that these numbers are of.
template <class Values, class Set>
void for_numbers(const IocNames& names, const Values& values, PutsSamples& samples, Set set) {
  for (const auto& [number, value] : values)
    if (const auto name = names.find(number); name != names.end())
      for (ServerSample& server : samples.servers)
        if (server.ioc == name->second) set(server, value);
}

}  // namespace

void PutsCollector::read_puts(Reading& reading) {
  auto& [ca, pva] = reading.samples;
  packets_.add_probes(reading.self);
  Counts counts = read_counts();
  reading.complete = counts.complete;
  add_samples(names_, seen_by_pva_, std::move(counts.all), wall_clock_, reading.samples,
              reading.self);
  const bool has_ca = counts.has_packets && (packets_.tap() || probe(Protocol::ca));
  if (!has_ca) ca = {};
  ca.puts_missing = !has_ca;
  pva.puts_missing = options_.server_probe && !probe(Protocol::pva);
  add_server_facts(ca);
  const auto facts = view_->facts();
  ca.pvs = pv_records_.resolve(facts, ca.puts);
  std::ranges::move(pv_records_.resolve(facts, pva.puts), std::back_inserter(ca.pvs));
  host_.want_databases(pv_records_.take_outdated());
  for (const Protocol protocol : kProtocols) {
    if (!options_.server_probe) continue;
    const Probe& one = probe(protocol);
    reading.self.probes.push_back(sample_of(ServerProbeObject::name_of(protocol), one));
    if (one && !report("read the losses of", *one, one->add_to(reading.self)))
      reading.complete = false;
  }
  reading.complete &= !ca.puts_missing && !pva.puts_missing;
}

// What others than the tap know of CA servers.
void PutsCollector::add_server_facts(PutsSamples& samples) const {
  for_numbers(names_, totals_->to_others_channels, samples,
              [](auto& server, std::uint64_t puts) { server.to_others_channels = puts; });
  const auto add_unnamed = [](auto& server, std::uint64_t channels) {
    server.unnamed_channels += channels;
  };
  const Probe& one = probe(Protocol::ca);
  if (one) for_numbers(names_, one->unnamed(), samples, add_unnamed);
  if (Tap* const tap = packets_.tap())
    for_numbers(names_, tap->channels().unnamed(), samples, add_unnamed);
  const auto is_in = [&](const std::set<std::uint32_t>& numbers, const std::string& ioc) {
    return std::ranges::any_of(numbers, [&](std::uint32_t number) {
      const auto name = names_.find(number);
      return name != names_.end() && name->second == ioc;
    });
  };
  std::erase_if(samples.servers, [&](const ServerSample& server) {
    return server.received_bytes == 0 && is_in(pva_only_, server.ioc);
  });
  for (ServerSample& server : samples.servers)
    if (!packets_.tap() || is_in(out_of_reach_, server.ioc))
      server.open_known = server.flow_control_known = server.packets_known = false;
}

bool PutsCollector::serves(const iocs::LiveIoc& live, Protocol protocol) const {
  const bool is_other_pva = live.ioc.kind == iocs::IocKind::other_pva;
  if (protocol == Protocol::ca) return !is_other_pva;
  return is_other_pva || live.ioc.serves_pva || seen_by_pva_.contains(live.number);
}

// The value of the label `source` of epics_ioc_put_source.
std::string_view PutsCollector::source_of(const iocs::LiveIoc& live, Protocol protocol) const {
  switch (totals_->choice.source({live.number, protocol})) {
    case SourceChoice::Source::server:
      return "server";
    case SourceChoice::Source::packets:
      return packets_.reach(live.ioc) ? "packets" : "none";
    default:
      return "none";
  }
}

double PutsCollector::counted_since(const iocs::LiveIoc& live, Protocol protocol) const {
  const ServerKey server{live.number, protocol};
  std::uint64_t since_ns = totals_->choice.counted_since(server).value_or(0);
  if (totals_->choice.by_packets(server))
    since_ns = std::max({since_ns, packets_.open_since_ns(), kernel_ns(live.found)});
  // Puts from before are forgotten by now.
  const double forgotten = std::chrono::duration<double>(totals_->expiry).count();
  return std::max(wall_clock_.seconds(since_ns), now_seconds() - forgotten);
}

void PutsCollector::add_sources(Reading& reading) const {
  for (const Protocol protocol : kProtocols)
    for (const auto& [id, live] : view_->live()) {
      if (!serves(live, protocol)) continue;
      PutSourceSample sample{live.ioc.name, std::string(name_of(protocol)),
                             std::string(source_of(live, protocol))};
      if (sample.source != "none") sample.since_seconds = counted_since(live, protocol);
      const Probe& one = probe(protocol);
      if (one)
        if (const auto why = one->unheard().find(live.number); why != one->unheard().end())
          sample.why = why->second;
      if (sample.source == "none") sample.why = why_not_counted(live.ioc, std::move(sample.why));
      if (sample.source == "server")
        reading.self.ioc_overhead.push_back(
            {live.ioc.name, one->object().name(),
             seconds_of_puts(live.ioc, protocol, totals_->by_server[{live.number, protocol}])});
      reading.sources.push_back(std::move(sample));
    }
  reading.self.families = source_families(reading.sources, switches());
}

std::vector<PutSwitchSample> PutsCollector::switches() const {
  std::vector<PutSwitchSample> samples;
  if (!packets_.tap()) return samples;
  for (const auto& [server, switches] : totals_->choice.switches())
    if (const auto name = names_.find(server.ioc); name != names_.end())
      samples.push_back({name->second, std::string(name_of(server.protocol)), switches});
  return samples;
}

// Without the mutex: an IOC may make us wait. Where only packets count puts, they count
// connections, too.
void PutsCollector::look_at_servers() {
  const auto view = host_.view();
  std::vector<CaInventory::Server> servers;
  std::vector<SocketOwner> gateways, with_clients;
  for (const auto& [id, live] : view->live()) {
    const iocs::Ioc& ioc = live.ioc;
    with_clients.push_back({id, ioc.net_namespace, ioc.name, ioc.listening});
    if (ioc.is_gateway) gateways.push_back({id, ioc.net_namespace});
    if (!probe(Protocol::ca) || ioc.kind != iocs::IocKind::base || ioc.ca_server.empty()) continue;
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
  inventory_.look(std::move(servers));
  gateways_.look(host_.fs(), gateways, with_clients, options_.remote_servers);
}

// Under the mutex.
PutsCollector::Reading PutsCollector::read() {
  Reading reading;
  auto& [ca, pva] = reading.samples;
  pva.searches_missing = true;
  if (!options_.enabled) {
    ca.puts_missing = ca.searches_missing = pva.puts_missing = true;
    return reading;
  }
  read_puts(reading);
  add_sources(reading);
  inventory_.add_to(ca);
  ca.pending_puts = read_pending();
  reading.self.add(inventory_.drops());
  reading.complete &= packets_.read_searches(ca, reading.self);
  reading.self.states.push_back(packets_.kept().sample());
  return reading;
}

void PutsCollector::collect(exposition::Page& page) {
  if (options_.enabled) look_at_servers();
  Reading reading;
  std::unordered_set<std::string> names;
  {
    const std::scoped_lock lock(mutex_);
    reading = read();
    names = view_->known_names();
  }
  auto& [ca, pva] = reading.samples;
  // Samples without an IOC are always shown.
  const auto known = [&](const std::string& name) { return name.empty() || names.contains(name); };
  ca_bounds_.apply(ca, known);
  pva_bounds_.apply(pva, known);
  gateways_.add_to(ca, false);
  gateways_.add_to(pva, true);
  page.complete = reading.complete;
  page.self.add(std::move(reading.self));
  auto limited = ca_bounds_.limited();
  const auto by_pva = pva_bounds_.limited();
  for (std::size_t i = 0; i < limited.size(); ++i) limited[i].things += by_pva[i].things;
  std::ranges::move(limited, std::back_inserter(page.self.limited));
  const auto edges = exposition::HistogramEdges::of_puts(ca_bounds_.edge_step());
  page.encoder.reserve(estimated_size(ca, edges) + estimated_size(pva, edges));
  encode_puts(ca, edges, page.encoder, page.shared);
  add_puts(pva, edges, page.encoder, page.shared);
}

void PutsCollector::status(exposition::StatusPage& page) {
  if (options_.enabled) look_at_servers();
  Reading reading;
  exposition::StatusTable latest;
  const double now = now_seconds();
  {
    const std::scoped_lock lock(mutex_);
    reading = read();
    latest = puts_table(reading.samples.ca, now, [this](const PutSample& put) {
      return observer_ == nullptr ? std::string_view() : observer_->verdict(put);
    });
    for (const auto& [id, live] : view_->live())
      if (exposition::StatusIoc* const row = page.find_ioc(live.ioc.name))
        if (const std::string stepped = options_.server_probe ? stepped_functions(live.ioc) : "";
            !stepped.empty())
          row->notes.push_back("single-stepped, so that each put takes longer: " + stepped + ".");
  }
  page.ioc_columns.insert(page.ioc_columns.end(),
                          {{"circuits", true}, {"channels", true}, {"puts/s", true}});
  add_rates(reading, page);
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> open;  // circuits, channels
  for (const Protocol protocol : kProtocols)
    for (const ServerSample& server : reading.samples.of(protocol).servers) {
      if (!server.open_known) continue;
      auto& [circuits, channels] = open[server.ioc];
      circuits += server.circuits;
      channels = std::accumulate(server.channels.begin(), server.channels.end(), channels);
    }
  for (const auto& [ioc, counts] : open)
    if (exposition::StatusIoc* const row = page.find_ioc(ioc); row != nullptr && row->up) {
      row->cells["circuits"] = std::to_string(counts.first);
      row->cells["channels"] = std::to_string(counts.second);
    }
  for (const PutSourceSample& one : reading.sources)
    if (exposition::StatusIoc* const row = page.find_ioc(one.ioc);
        row != nullptr && !one.why.empty())
      row->notes.push_back(note_of_source(one));
  for (const auto& [ioc, problem] : inventory_.problems())
    if (exposition::StatusIoc* const row = page.find_ioc(ioc); row != nullptr && row->up)
      row->notes.push_back("Who is connected is not known: " + problem + ".");
  const auto& [ca, pva] = reading.samples;
  page.facts.push_back({std::to_string(ca.clients.size()), "clients"});
  add_notes(ca, pva, page.notes);
  if (!packets_.kept().problem().empty()) page.notes.push_back(packets_.kept().problem());
  for (auto& table :
       {clients_table(ca), pending_table(ca, now), std::move(latest), searches_table(ca, now)})
    page.tables.push_back(table);
  page.self.add(std::move(reading.self));
}

// Of IOCs whose puts somebody counts.
void PutsCollector::add_rates(Reading& reading, exposition::StatusPage& page) {
  std::set<std::string> counted, not_counted;
  for (const PutSourceSample& one : reading.sources)
    (one.source == "none" ? not_counted : counted).insert(one.ioc);
  Rates::Counts counts;
  for (const exposition::StatusIoc& ioc : page.iocs)
    if (ioc.up && (counted.contains(ioc.name) || !not_counted.contains(ioc.name)))
      counts[ioc.name] = 0;
  for (const Protocol protocol : kProtocols)
    for (const PutSample& put : reading.samples.of(protocol).puts)
      if (const auto count = counts.find(put.ioc); count != counts.end())
        count->second += put.count;
  double all = 0;
  const std::size_t known = counts.size();
  const auto rates = rates_.of(std::move(counts));
  page.rates_due |= rates.size() < known;
  for (const auto& [ioc, rate] : rates) {
    page.find_ioc(ioc)->cells["puts/s"] = exposition::rate_text(rate);
    all += rate;
  }
  if (!rates.empty()) page.facts.push_back({exposition::rate_text(all), "puts/s"});
}

// Under the mutex. Nothing where one reading fails: the sum would be too small.
std::vector<PendingPutsSample> PutsCollector::read_pending() {
  if (!probe(Protocol::ca)) return {};
  PendingPuts pending;
  Result<void> read;
  for (Probe& one : probes_)
    if (one && read) read = one->add_pending(pending);
  if (!trouble_.report("read which put-callbacks wait", read)) return {};
  return pending_samples(names_, std::move(pending), WallClock::read());
}

std::vector<PendingPutsSample> PutsCollector::pending_puts() {
  const std::scoped_lock lock(mutex_);
  return read_pending();
}

WhoWrote PutsCollector::who_wrote(std::string_view pv, const WrittenByGroup& groups) {
  const std::scoped_lock lock(mutex_);
  Reading reading = read();
  auto& [ca, pva] = reading.samples;
  std::ranges::move(pva.puts, std::back_inserter(ca.puts));
  WhoWrote answer = puts::who_wrote(view_->facts(), ca, reading.sources, pv, groups);
  if (const std::string problem =
          why_puts_are_missing(options_.enabled, host_.hands_off(), reading.complete);
      !problem.empty()) {
    answer.problem = problem;
    answer.counting_since_seconds = 0;
  }
  return answer;
}

}  // namespace ioc_exporter::puts
