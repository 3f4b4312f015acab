#include "puts/pva/collector.h"

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

}  // namespace

PvaCollector::PvaCollector(iocs::Host& host, const Setup& setup)
    : host_(host), enabled_(setup.enabled) {
  totals_->expiry = setup.put_expiry;
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
  totals_->expiry = expiry;
}

void PvaCollector::follow(TimePoint now) {
  if (!probe_) return;
  probe_->follow(host_, now);
  std::set<std::uint32_t> known;
  for (const auto& [number, name] : host_.names()) known.insert(number);
  for (const std::uint32_t number : known_)
    if (!known.contains(number)) totals_->forget(number);
  known_ = std::move(known);
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
  if (!probe_) return false;
  const bool read =
      trouble_.report("read the puts of PV Access servers", probe_->collect(Clock::now()));
  wall_clock_.update(WallClock::read());
  if (observer_ != nullptr)
    observer_->puts_were_read(host_.names(), totals_->puts.counts(), wall_clock_);
  return read;
}

// Under the mutex.
CaSamples PvaCollector::read(SelfSamples& self) {
  CaSamples samples;
  samples.searches_missing = true;
  if (!enabled_) return samples;
  self.probes.push_back(ca::sample_of(ca::kPvaServerProbe, probe_));
  samples.puts_missing = !read_probe();
  if (!probe_) return samples;
  const auto names = host_.names();
  ca::add_put_samples(names, totals_->read(clock_ns(CLOCK_MONOTONIC)), wall_clock_, true, samples);
  for (const auto& [number, unheard] : probe_->unheard())
    if (const auto name = names.find(number); name != names.end())
      self.put_sources.push_back(
          {name->second, "pva", unheard.empty() ? "server" : "none", unheard});
  if (!trouble_.report("read what the probes on PV Access servers lost", probe_->add_to(self)))
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
  for (LimitedSample& limited : bounds_.limited())
    if (limited.family == "puts" || limited.family == "put_failures")
      page.self.limited.push_back(std::move(limited));
  ca::add_puts(samples, page.encoder, page.shared);
}

void PvaCollector::status(exposition::StatusPage& page) {
  CaSamples samples;
  {
    const std::scoped_lock lock(host_.mutex());
    samples = read(page.self);
  }
  for (const PutSourceSample& one : page.self.put_sources)
    if (exposition::StatusIoc* const row = one.protocol == "pva" ? page.find_ioc(one.ioc) : nullptr;
        row != nullptr && !one.why.empty())
      row->notes.push_back("Its puts by PV Access are not all counted: " + one.why + ".");
  if (const std::uint64_t unnamed = samples.unnamed_puts(); unnamed > 0)
    page.notes.push_back(exposition::plural(unnamed, "put") +
                         " by PV Access whose PV and client are not known: counted with pv=\"\".");
}

ca::WhoWrote PvaCollector::who_wrote(std::string_view pv) {
  const std::scoped_lock lock(host_.mutex());
  SelfSamples self;
  return ca::who_wrote(host_.facts(), read(self), pv);
}

}  // namespace ioc_exporter::pva
