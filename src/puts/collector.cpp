#include "puts/collector.h"

#include <algorithm>
#include <utility>

#include "base/process_stats.h"
#include "kernel/load_error.h"

namespace ioc_exporter::puts {
namespace {

constexpr std::uint32_t kPvaSlots = 16'384;

}  // namespace

PutsCollector::PutsCollector(iocs::Host& host, const Setup& setup)
    : host_(host),
      options_(setup.options),
      view_(host.view()),
      names_(view_->names()),
      packets_(host, setup, totals_),
      inventory_(host.fs(), host.reader()) {
  totals_->expiry = options_.put_expiry;
  if (!options_.enabled || !options_.server_probe) return;
  for (const Protocol protocol : kProtocols)
    if (auto loaded = load_probe(protocol, setup); !loaded)
      why_no_probe_[index_of(protocol)] = kernel::explain_load_error(loaded.error());
}

Result<void> PutsCollector::load_probe(Protocol protocol, const Setup& setup) {
  const bool by_pva = protocol == Protocol::pva;
  if (auto ok = in_initial_pid_namespace(
          host_.fs(), by_pva ? "hear PV Access servers about puts" : "hear servers about puts");
      !ok)
    return ok;
  const std::uint32_t slots = by_pva ? kPvaSlots : std::max(options_.max_channels / 4, 1024u);
  auto started = ServerProbe::start({protocol, slots, setup.ring, setup.traces}, totals_,
                                    packets_.tap(), setup.budget);
  if (!started) return std::move(started).error();
  probe(protocol).emplace(std::move(*started));
  return {};
}

std::vector<ProbeState> PutsCollector::probes() const {
  if (!options_.enabled) return {};
  std::vector<ProbeState> states = packets_.probes();
  if (options_.server_probe)
    for (const Protocol protocol : kProtocols)
      states.push_back({ServerProbeObject::name_of(protocol), why_no_probe_[index_of(protocol)]});
  return states;
}

void PutsCollector::use(const exposition::BoundsOptions& bounds, std::chrono::milliseconds expiry,
                        GatewayList gateways) {
  ca_bounds_.configure(bounds);
  pva_bounds_.configure(bounds);
  gateways_.use(std::move(gateways));
  const std::scoped_lock lock(mutex_);
  totals_->expiry = expiry;
}

PacketTap* PutsCollector::packet_tap() const {
  return packets_.tap() ? &packets_.tap()->network().packets() : nullptr;
}

std::vector<elf::Attacher*> PutsCollector::attachers() const {
  std::vector<elf::Attacher*> all;
  for (const Probe& probe : probes_)
    if (probe) all.push_back(&probe->object().attacher());
  return all;
}

// True: it is not as it was at the last follow().
bool PutsCollector::see_host(bool hands_off) {
  if (auto view = host_.view(); view != view_) {
    view_ = std::move(view);
    names_ = view_->names();
  }
  return view_ != followed_ || hands_off != left_alone_;
}

// If no thread has started, packets can wait: a CA client's circuit is a thread of its server. The
// probes of an IOC follow what the host's scan finds, and what they have not done yet.
void PutsCollector::follow(TimePoint now) {
  const std::scoped_lock lock(mutex_);
  const bool hands_off = host_.hands_off();
  rested_ = host_.listeners().idle;
  bool is_other = see_host(hands_off);
  const auto view = view_;
  for (Probe& probe : probes_)
    if (probe && is_other) {
      probe->leave_renamed(view_->live(), now);
      probe->expect(view_->live(), hands_off);
    }
  if (!rested_ || is_other) {
    packets_.follow(*view_, now);
    host_.publish();  // names of servers elsewhere
    is_other = see_host(hands_off);
  }
  // After the tap has its ports: a put that the server probe counts has been seen by the tap, too.
  bool has_followed = is_other;
  for (Probe& probe : probes_)
    if (probe && (is_other || probe->is_due(now))) {
      probe->follow(view_->live(), hands_off, now);
      has_followed = true;
    }
  if (has_followed) packets_.leave_out_probed(*view_);
  if (!is_other) return;
  forget_gone();
  followed_ = view;
  left_alone_ = hands_off;
}

void PutsCollector::forget_gone() {
  const auto note = [](std::set<std::uint32_t>& set, std::uint32_t number, bool is_in) {
    if (is_in)
      set.insert(number);
    else
      set.erase(number);
  };
  for (const auto& [id, live] : view_->live()) {
    note(pva_only_, live.number, live.ioc.kind == iocs::IocKind::other_pva);
    note(out_of_reach_, live.number, !live.ioc.own_net_namespace);
  }
  for (const std::uint32_t number : host_.take_forgotten()) {
    for (std::set<std::uint32_t>* const set : {&pva_only_, &out_of_reach_, &seen_by_pva_})
      set->erase(number);
    if (Tap* const tap = packets_.tap())
      trouble_.report("forget the puts of an IOC that is gone", tap->forget(number));
    else
      totals_->forget(number);
  }
}

void PutsCollector::tick(TimePoint now) {
  if (probe(Protocol::ca)) name_slots(now);
  const std::scoped_lock lock(mutex_);
  totals_->tick(now);
  std::vector<Probe*> awake{&probe(Protocol::pva)};  // as in follow()
  if (!rested_) awake.push_back(&probe(Protocol::ca));
  for (Probe* const probe : awake)
    if (*probe) report("read the puts of", **probe, (*probe)->collect(now));
  if (awake.size() > 1) report("tidy up", packets_, packets_.reap(now));
  for (Probe* const probe : awake)
    if (*probe) report("tidy up", **probe, (*probe)->reap(now));
}

bool PutsCollector::report(const char* action, const PutSource& source,
                           const Result<void>& result) {
  return trouble_.report(action + std::string(" ") + source.probe_name(), result);
}

// Before the tap is read: all that a server was asked for has travelled before.
bool PutsCollector::collect_probes(TimePoint now) {
  bool complete = true;
  for (Probe& probe : probes_)
    if (probe) complete &= report("read the puts of", *probe, probe->collect(now));
  return complete;
}

// Of the clients that are connected to the IOC. Without the mutex: an IOC may make us wait.
Result<CaServerTables> PutsCollector::read_tables(const iocs::LiveIoc& live) const {
  const iocs::Ioc& ioc = live.ioc;
  auto sockets = SocketTable::of_process(host_.fs(), ioc.id.pid);
  if (!sockets) return std::move(sockets).error();
  const auto is_own_port = [&live](std::uint16_t port) {
    if (live.ca_port) return *live.ca_port == port;
    return std::ranges::any_of(live.ioc.listening,
                               [port](const auto& socket) { return socket.port == port; });
  };
  CaPeers peers;
  auto read = sockets->for_each(SocketKind::connected, [&](const InetSocket& one) {
    if (is_own_port(one.local_port)) peers.insert({one.remote, one.remote_port});
  });
  if (!read) return read.error();
  if (peers.empty()) return CaServerTables{};
  auto memory = host_.reader()->memory(ioc.id);
  if (!memory) return std::move(memory).error();
  return read_ca_server(**memory, ioc.ca_server, peers,
                        "ioc " + ioc.name + " (pid " + std::to_string(ioc.id.pid) + ")");
}

// Also without the mutex.
void PutsCollector::name_slots(TimePoint now) {
  if (host_.hands_off()) return;
  ServerProbe& server = *probe(Protocol::ca);
  std::unique_lock lock(mutex_);
  const std::set<std::uint32_t> due = server.want_names(now);
  if (due.empty()) return;
  const auto view = view_;
  for (const auto& [id, live] : view->live()) {
    if (!live.ioc.traced_or_stopped.empty() || !due.contains(live.number)) continue;
    lock.unlock();
    const auto tables = read_tables(live);
    lock.lock();
    trouble_.report("read the names of channels", tables ? Result<void>() : tables.error());
    server.take_names(live.number, tables ? *tables : CaServerTables{}, now, Clock::now());
  }
}

void PutsCollector::detach() {
  const std::scoped_lock lock(mutex_);
  for (Probe& probe : probes_)
    if (probe) probe->detach_all(Clock::now());
  packets_.detach_all(Clock::now());
}

void PutsCollector::attach() {
  const std::scoped_lock lock(mutex_);
  packets_.attach();
}

void PutsCollector::keep_channels() {
  const std::scoped_lock lock(mutex_);
  packets_.keep_channels();
}

PutsCollector::Counts PutsCollector::read_counts() {
  Counts counts;
  counts.complete = collect_probes(Clock::now());
  auto reading = packets_.read();
  counts.has_packets =
      report("read the puts of", packets_, reading ? Result<void>() : reading.error());
  counts.all = reading ? std::move(*reading) : packets_.sums();
  for (const ServerCount& count : counts.all.servers)
    if (count.server.protocol == Protocol::pva && count.circuits > 0 &&
        names_.contains(count.server.ioc))
      seen_by_pva_.insert(count.server.ioc);
  const std::uint32_t slots = PutTotals::server_slots(Protocol::ca);
  if (counts.has_packets)
    totals_->add_drops(counts.all.drops, packets_.tap() ? packets_.probe_name() : kCaServerProbe,
                       slots);
  wall_clock_.update(WallClock::read());
  if (observer_ != nullptr) observer_->puts_were_read(names_, counts.all.puts, wall_clock_);
  return counts;
}

PutsOfSlots PutsCollector::show_puts(const std::function<void()>& change) {
  const std::scoped_lock lock(mutex_);
  static_cast<void>(read_counts());
  change();
  return probe(Protocol::ca) ? probe(Protocol::ca)->counted() : PutsOfSlots();
}

const PutSource* PutsCollector::source(std::uint32_t source) const {
  if (source == IOCX_PUTLOG_CA_TAP) return &packets_;
  const Probe& probe = probes_[index_of(source == IOCX_PUTLOG_PVA ? Protocol::pva : Protocol::ca)];
  return probe ? &*probe : nullptr;
}

std::optional<PutIdentity> PutsCollector::identify(const iocx_putlog_event& event) const {
  const std::scoped_lock lock(mutex_);
  const PutSource* const one = source(event.source);
  return one == nullptr ? std::nullopt : one->identify(event);
}

std::vector<std::optional<PutIdentity>> PutsCollector::identify(
    std::span<const iocx_putlog_event> events, bool again) {
  const std::scoped_lock lock(mutex_);
  if (again && !rested_) {
    collect_probes(Clock::now());
    report("look for names in", packets_, packets_.collect(Clock::now()));
  }
  std::vector<std::optional<PutIdentity>> all;
  all.reserve(events.size());
  for (const iocx_putlog_event& event : events) {
    const PutSource* const one = source(event.source);
    auto& who = all.emplace_back(one == nullptr ? std::nullopt : one->identify(event));
    if (!who) continue;
    if (const auto name = names_.find(who->labels.ioc); name != names_.end())
      who->ioc = name->second;
    if (!who->labels.inside && who->labels.protocol == Protocol::ca)
      who->server = packets_.address_of_server(*view_, who->place);
  }
  return all;
}

kernel::LostEvents PutsCollector::lost_events(iocx_putlog_source source) const {
  const PutSource* const one = this->source(source);
  return one == nullptr ? kernel::LostEvents() : one->lost_events();
}

}  // namespace ioc_exporter::puts
