#include "puts/pva/collector.h"

#include <numeric>
#include <unordered_set>
#include <utility>

#include "base/process_stats.h"
#include "exposition/page.h"
#include "exposition/status_page.h"
#include "kernel/load_error.h"
#include "puts/totals/put_families.h"

namespace ioc_exporter::pva {

void encode_pva(const PvaSamples& samples, exposition::Encoder& encoder,
                exposition::SharedFamilies& shared) {
  ca::add_puts(samples.puts, encoder, shared);
  ca::add_put_failures(samples.failures, encoder, shared);
}

namespace {

constexpr std::chrono::seconds kExpiryInterval{10};
constexpr std::uint32_t kSlots = 16'384;

ProbeSample probe_sample(const std::optional<ca::ServerProbe>& probe) {
  ProbeSample sample;
  sample.probe = ca::kPvaServerProbe;
  sample.loaded = probe.has_value();
  if (!probe) return sample;
  sample.attachments = probe->attachments();
  if (const auto stats = probe->stats()) {
    sample.runs = stats->runs;
    sample.run_time_ns = stats->run_time_ns;
  }
  return sample;
}

}  // namespace

PvaCollector::PvaCollector(iocs::Host& host, const Setup& setup)
    : host_(host), enabled_(setup.enabled), put_expiry_(setup.put_expiry) {
  if (!enabled_) return;
  auto place = in_initial_pid_namespace(host_.fs(), "hear PV Access servers about puts");
  auto probe =
      place ? ca::ServerProbe::start({ca::ServerProtocol::pva, kSlots, setup.ring, setup.traces},
                                     totals_, nullptr)
            : Result<ca::ServerProbe>(place.error());
  if (probe)
    probe_.emplace(std::move(*probe));
  else
    why_not_ = kernel::explain_load_error(ca::kPvaServerProbe, probe.error());
}

std::vector<ProbeState> PvaCollector::probes() const {
  if (!enabled_) return {};
  return {{ca::kPvaServerProbe, why_not_}};
}

void PvaCollector::set_put_expiry(std::chrono::milliseconds expiry) {
  const std::scoped_lock lock(host_.mutex());
  put_expiry_ = expiry;
}

void PvaCollector::follow(TimePoint now) {
  if (!probe_) return;
  std::vector<ca::ProbedIoc> iocs;
  for (const auto& [id, live] : host_.live())
    iocs.push_back({{live.number, &live.ioc, std::nullopt}, live.serial, host_.left_alone(live)});
  probe_->follow(iocs, now);
  std::set<std::uint32_t> known;
  for (const auto& [number, name] : host_.names()) known.insert(number);
  for (const std::uint32_t number : known_)
    if (!known.contains(number)) totals_->forget(number);
  known_ = std::move(known);
}

void PvaCollector::tick(TimePoint now) {
  if (!probe_) return;
  const std::scoped_lock lock(host_.mutex());
  if (now >= next_expiry_) {
    next_expiry_ = now + kExpiryInterval;
    totals_->expire(kernel_ns(now - put_expiry_));
  }
  trouble_.report("read the puts of PV Access servers", probe_->collect(now));
  trouble_.report("free what puts by PV Access take", probe_->reap(now));
}

void PvaCollector::detach() {
  if (probe_) probe_->detach_all(Clock::now());
}

// False: what was counted since the last time is missing.
bool PvaCollector::read_probe() {
  if (!probe_) return false;
  const bool read =
      trouble_.report("read the puts of PV Access servers", probe_->collect(Clock::now()));
  wall_clock_.update(WallClock::read());
  if (observer_ != nullptr)
    observer_->puts_were_read(host_.names(), totals_->puts.counts(), wall_clock_);
  return read;
}

// Under the mutex.
PvaSamples PvaCollector::read(SelfSamples& self, bool& complete) {
  PvaSamples samples;
  if (!enabled_) return samples;
  self.probes.push_back(probe_sample(probe_));
  complete = read_probe();
  if (!probe_) return samples;
  const auto names = host_.names();
  const auto each_named = [&names](auto&& all, auto add) {
    for (auto& one : all)
      if (const auto name = names.find(one.labels.ioc); name != names.end())
        add(name->second, one.labels, one);
  };
  each_named(totals_->puts.counts(), [&](const std::string& ioc, auto& labels, auto& put) {
    samples.puts.push_back({.ioc = ioc,
                            .pv = labels.pv,
                            .client = labels.client,
                            .user = labels.user,
                            .host = labels.host,
                            .op = put.op,
                            .count = put.count,
                            .last_time_seconds = wall_clock_.seconds(put.last_ns),
                            .created_seconds = wall_clock_.seconds(put.created_ns),
                            .by_pva = true});
  });
  each_named(totals_->outcomes.failures(), [&](const std::string& ioc, auto& labels, auto& put) {
    samples.failures.push_back({ioc, labels.pv, labels.client, labels.user, labels.host, put.reason,
                                put.count, wall_clock_.seconds(put.created_ns), true});
  });
  totals_->note_reading(clock_ns(CLOCK_MONOTONIC));
  for (const auto& [number, unheard] : probe_->unheard())
    if (const auto name = names.find(number); name != names.end())
      self.put_sources.push_back(
          {name->second, "pva", unheard.empty() ? "server" : "none", unheard});
  self.maps.push_back(probe_->map());
  auto drops = probe_->drops();
  if (trouble_.report("read what the probes on PV Access servers lost",
                      drops ? Result<void>() : drops.error()))
    self.add(std::move(*drops));
  else
    complete = false;
  return samples;
}

void PvaCollector::collect(exposition::Page& page) {
  PvaSamples samples;
  std::unordered_set<std::string> known;
  bool complete = true;
  {
    const std::scoped_lock lock(host_.mutex());
    samples = read(page.self, complete);
    known = host_.known_names();
  }
  page.complete = complete;
  CaSamples bounded;
  bounded.puts = std::move(samples.puts);
  bounded.put_failures = std::move(samples.failures);
  bounded.puts_missing = !complete;
  bounded.searches_missing = true;
  bounds_.apply(bounded, [&](const std::string& name) { return known.contains(name); });
  for (LimitedSample& limited : bounds_.limited())
    if (limited.family == "puts" || limited.family == "put_failures")
      page.self.limited.push_back(std::move(limited));
  samples.puts = std::move(bounded.puts);
  samples.failures = std::move(bounded.put_failures);
  encode_pva(samples, page.encoder, page.shared);
}

void PvaCollector::status(exposition::StatusPage& page) {
  PvaSamples samples;
  bool complete = true;
  {
    const std::scoped_lock lock(host_.mutex());
    samples = read(page.self, complete);
  }
  for (const PutSourceSample& one : page.self.put_sources)
    if (exposition::StatusIoc* const row = one.protocol == "pva" ? page.find_ioc(one.ioc) : nullptr;
        row != nullptr && !one.why.empty())
      row->notes.push_back("Its puts by PV Access are not all counted: " + one.why + ".");
  const auto unnamed = std::accumulate(samples.puts.begin(), samples.puts.end(), std::uint64_t{0},
                                       [](std::uint64_t sum, const PutSample& put) {
                                         return put.pv.empty() ? sum + put.count : sum;
                                       });
  if (unnamed > 0)
    page.notes.push_back(exposition::plural(unnamed, "put") +
                         " by PV Access whose PV and client are not known: counted with pv=\"\".");
}

ca::WhoWrote PvaCollector::who_wrote(std::string_view pv) {
  const std::scoped_lock lock(host_.mutex());
  CaSamples samples;
  SelfSamples self;
  bool complete = true;
  samples.puts = read(self, complete).puts;
  return ca::who_wrote(host_.facts(), samples, pv);
}

}  // namespace ioc_exporter::pva
