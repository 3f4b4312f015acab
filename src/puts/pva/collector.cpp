#include "puts/pva/collector.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_set>
#include <utility>

#include "base/process_stats.h"
#include "exposition/page.h"
#include "exposition/status_page.h"
#include "kernel/load_error.h"
#include "puts/totals/put_families.h"
#include "puts/totals/samples_by_name.h"

namespace ioc_exporter::pva {
namespace {

constexpr std::uint32_t kSlots = 16'384;

// One for each client and PV, whatever the operation: to a policy each is a write.
std::vector<ca::CaPutCount> as_writes(std::vector<ca::CaPutCount> puts) {
  std::map<ca::CaPutLabels, ca::CaPutCount> all;
  for (ca::CaPutCount& put : puts) {
    ca::CaPutCount& sum = all.try_emplace(put.labels).first->second;
    sum.count += put.count;
    sum.hidden += put.hidden;
    sum.last_ns = std::max(sum.last_ns, put.last_ns);
  }
  puts.clear();
  for (auto& [labels, sum] : all) {
    sum.labels = labels;
    puts.push_back(std::move(sum));
  }
  return puts;
}

}  // namespace

PvaCollector::PvaCollector(iocs::Host& host, const Setup& setup, ca::CaCollector& packets)
    : host_(host), server_probe_(setup.server_probe), packets_(packets) {
  totals_->expiry = setup.put_expiry;
  if (!server_probe_) return;
  auto place = in_initial_pid_namespace(host_.fs(), "hear PV Access servers about puts");
  auto probe =
      place ? ca::ServerProbe::start({ca::ServerProtocol::pva, kSlots, setup.ring, setup.traces},
                                     totals_, packets_.tap(), setup.budget)
            : Result<ca::ServerProbe>(place.error());
  if (probe) {
    probe_.emplace(std::move(*probe));
    packets_.set_pva_probe(&*probe_);
  } else {
    why_not_ = kernel::explain_load_error(probe.error());
  }
}

std::vector<ProbeState> PvaCollector::probes() const {
  if (!server_probe_) return {};
  return {{ca::kPvaServerProbe, why_not_}};
}

void PvaCollector::set_put_expiry(std::chrono::milliseconds expiry) {
  const std::scoped_lock lock(host_.mutex());
  totals_->expiry = expiry;
}

void PvaCollector::follow(TimePoint now) {
  if (probe_) probe_->follow(host_, now);
  std::set<std::uint32_t> known;
  for (const auto& [number, name] : host_.names()) known.insert(number);
  for (const std::uint32_t number : known_)
    if (!known.contains(number)) totals_->forget(number);
  known_ = std::move(known);
  std::erase_if(connected_, [this](std::uint32_t number) { return !known_.contains(number); });
}

void PvaCollector::tick(TimePoint now) {
  if (!probe_) return;
  const std::scoped_lock lock(host_.mutex());
  totals_->tick(now);
  trouble_.report("read the puts of PV Access servers", probe_->collect(now));
  trouble_.report("free what puts by PV Access take", probe_->reap(now));
}

void PvaCollector::detach() {
  if (probe_) probe_->detach_all(Clock::now());
}

// False: what was counted since the last time is missing.
bool PvaCollector::read_probe() {
  const bool read =
      probe_ ? trouble_.report("read the puts of PV Access servers", probe_->collect(Clock::now()))
             : !server_probe_;
  wall_clock_.update(WallClock::read());
  if (observer_ == nullptr) return read;
  auto puts = totals_->puts.counts();
  const auto& by_packets = packets_.pva_packets().puts;
  puts.insert(puts.end(), by_packets.begin(), by_packets.end());
  observer_->puts_were_read(host_.names(), as_writes(std::move(puts)), wall_clock_);
  return read;
}

void PvaCollector::read_sources(SelfSamples& self) {
  for (const ca::CaServerCount& server : packets_.pva_packets().servers)
    if (server.circuits > 0 && known_.contains(server.number)) connected_.insert(server.number);
  const auto heard = probe_ ? probe_->heard() : std::set<std::uint32_t>();
  for (const auto& [id, live] : host_.live()) {
    std::string why;
    bool serves = live.ioc.serves_pva || live.ioc.kind == iocs::IocKind::pva_server ||
                  connected_.contains(live.number);
    if (probe_)
      if (const auto found = probe_->unheard().find(live.number); found != probe_->unheard().end())
        why = found->second;
    if (!serves) continue;
    const bool by_packets = packets_.is_tapped(live.ioc) &&
                            packets_.tap()->who_counts().by_packets(live.number | ca::kPvaServer);
    const char* const source = heard.contains(live.number) ? "server"
                               : by_packets                ? "packets"
                                                           : "none";
    if (std::string_view(source) == "none") why = ca::why_not_counted(live.ioc, std::move(why));
    self.put_sources.push_back({live.ioc.name, "pva", source, std::move(why)});
    if (heard.contains(live.number))
      self.ioc_overhead.push_back({live.ioc.name, ca::kPvaServerProbe,
                                   ca::seconds_of_puts(live.ioc, ca::ServerProtocol::pva,
                                                       totals_->by_server[live.number])});
  }
  if (packets_.tap() == nullptr) return;
  const auto names = host_.names();
  for (const auto& [number, switches] : packets_.tap()->who_counts().switches())
    if (const auto name = names.find(number & ~ca::kPvaServer);
        ca::is_pva(number) && name != names.end())
      self.put_switches.push_back({name->second, "pva", switches});
}

// Of servers that were seen to serve PV Access.
void PvaCollector::read_connected(CaSamples& samples) const {
  const auto names = host_.names();
  const ca::CaTapReading& packets = packets_.pva_packets();
  for (const ca::CaServerCount& server : packets.servers)
    if (const auto name = names.find(server.number);
        name != names.end() && connected_.contains(server.number)) {
      CaServerSample& sample = samples.ca_servers.emplace_back(server);
      sample.ioc = name->second;
      sample.by_pva = true;
    }
  for (const ca::CaClientCount& client : packets.clients)
    if (const auto name = names.find(client.number); name != names.end())
      samples.ca_clients.emplace_back(client).ioc = name->second;
}

// Under the mutex.
CaSamples PvaCollector::read(SelfSamples& self) {
  CaSamples samples;
  samples.searches_missing = true;
  if (!is_enabled()) return samples;
  if (server_probe_) self.probes.push_back(ca::sample_of(ca::kPvaServerProbe, probe_));
  samples.puts_missing = !read_probe();
  const auto names = host_.names();
  ca::add_put_samples(names, totals_->read(clock_ns(CLOCK_MONOTONIC)), wall_clock_, true, samples);
  ca::add_put_samples(names, packets_.pva_packets(), wall_clock_, true, samples);
  pv_records_.resolve(host_.facts(), samples.puts);
  host_.want_databases(pv_records_.take_outdated());
  read_sources(self);
  read_connected(samples);
  if (probe_ &&
      !trouble_.report("read what the probes on PV Access servers lost", probe_->add_to(self)))
    samples.puts_missing = true;
  return samples;
}

void PvaCollector::collect(exposition::Page& page) {
  CaSamples samples;
  std::unordered_set<std::string> known;
  {
    const std::scoped_lock lock(host_.mutex());
    samples = read(page.self);
    known = host_.known_names();
  }
  page.complete = !samples.puts_missing;
  bounds_.apply(samples, [&](const std::string& name) { return known.contains(name); });
  const auto mark = [](auto& all) {
    for (auto& sample : all) sample.by_pva = true;  // the sums over a limit, too
  };
  mark(samples.puts);
  mark(samples.put_failures);
  mark(samples.put_durations);
  mark(samples.ca_clients);
  for (LimitedSample& limited : bounds_.limited())
    if (std::string_view family(limited.family); family.starts_with("put") || family == "clients")
      page.self.limited.push_back(std::move(limited));
  packets_.gateways().add_to(samples, true);
  const auto edges = exposition::HistogramEdges::of_puts(bounds_.edge_step());
  ca::add_puts(samples, edges, page.encoder, page.shared);
}

void PvaCollector::status(exposition::StatusPage& page) {
  CaSamples samples;
  SelfSamples self;
  {
    const std::scoped_lock lock(host_.mutex());
    samples = read(self);
  }
  Rates::Counts counts;
  for (const PutSourceSample& one : self.put_sources) {
    exposition::StatusIoc* const row = page.find_ioc(one.ioc);
    if (row == nullptr) continue;
    if (one.source != "none") counts[one.ioc] = 0;
    if (!one.why.empty())
      row->notes.push_back("Its puts by PV Access are " +
                           std::string(one.source == "none"     ? "not all counted: "
                                       : one.source == "server" ? "counted in its server: "
                                                                : "counted from packets: ") +
                           one.why + ".");
  }
  for (const PutSample& put : samples.puts)
    if (const auto count = counts.find(put.ioc); count != counts.end()) count->second += put.count;
  const std::size_t counted = counts.size();
  const auto rates = rates_.of(std::move(counts));
  page.rates_due |= rates.size() < counted;
  for (const auto& [ioc, rate] : rates)
    if (exposition::StatusIoc* const row = page.find_ioc(ioc))
      row->put_rate = row->put_rate.value_or(0) + rate;
  for (const CaServerSample& server : samples.ca_servers)
    if (exposition::StatusIoc* const row = page.find_ioc(server.ioc); row != nullptr && row->up) {
      row->circuits = row->circuits.value_or(0) + server.circuits;
      row->channels = row->channels.value_or(0) + server.channels[CaOpen::unknown];
    }
  if (const std::uint64_t unnamed = samples.unnamed_puts(); unnamed > 0)
    page.notes.push_back(exposition::plural(unnamed, "put") +
                         " by PV Access whose PV or client is not known: counted with pv=\"\".");
  page.self.add(std::move(self));
}

ca::WhoWrote PvaCollector::who_wrote(std::string_view pv, const ca::WrittenByGroup& groups) {
  const std::scoped_lock lock(host_.mutex());
  SelfSamples self;
  return ca::who_wrote(host_.facts(), read(self), pv, groups);
}

}  // namespace ioc_exporter::pva
