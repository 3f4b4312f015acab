// The part of PvaWitness that turns the kernel's entries into puts by label, and frees them.
#include <algorithm>
#include <iterator>
#include <utility>

#include "puts/pva/put_labels.h"
#include "puts/pva/witness.h"

namespace ioc_exporter::pva {
namespace {

// Below, nobody else's room is at stake.
constexpr std::uint32_t kFewEntries = 64;

PvaWitness::Counts counts_of(const iocx_pva_counts& counts) {
  PvaWitness::Counts now{};
  for (std::size_t i = 0; i < now.size(); ++i)
    now[i] = __atomic_load_n(&counts.counts[i], __ATOMIC_RELAXED);
  return now;
}

}  // namespace

std::uint32_t PvaWitness::held_by(std::uint32_t holder) const {
  const iocx_pva_holder& place = object_.holders()[holder];
  return __atomic_load_n(&place.added, __ATOMIC_RELAXED) - place.freed;
}

Result<void> PvaWitness::collect(Clock::time_point now) {
  for (auto& [serial, watched] : watched_) observe_rest(watched);
  return object_.maps().puts.for_each(
      [&](const iocx_pva_key& key, const iocx_pva_put& put) { observe(key, put, now); });
}

void PvaWitness::observe(const iocx_pva_key& key, const iocx_pva_put& put, Clock::time_point now) {
  const auto life = lives_.find(key.generation);
  if (life == lives_.end()) return;
  const auto [source, is_new] = sources_.try_emplace(key);
  if (is_new) source->second.labels = labels_of(life->second.number, key);
  const Counts growth = source->second.growth.advance(counts_of(put.counts));
  if (growth == Counts{}) return;
  source->second.changed = now;
  count(source->second.labels, growth, put.counts.last_put);
}

// Puts of nobody in particular.
void PvaWitness::observe_rest(Watched& watched) {
  const iocx_pva_counts& rest = object_.holders()[watched.config.holder].rest;
  const Counts growth = watched.rest.advance(counts_of(rest));
  if (growth == Counts{}) return;
  count({watched.number, "", "", "", ""}, growth,
        __atomic_load_n(&rest.last_put, __ATOMIC_RELAXED));
}

void PvaWitness::count(const ca::CaPutLabels& labels, const Counts& growth,
                       std::uint64_t last_put) {
  if (const std::uint64_t asked = growth[IOCX_PVA_ASKED]; asked != 0)
    puts_.add(labels, {asked, 0}, last_put);
  const ca::CaPuts failed{growth[IOCX_PVA_REFUSED], growth[IOCX_PVA_FAILED]};
  if (failed != ca::CaPuts{}) failures_.add(labels, failed, last_put);
}

void PvaWitness::note_reading(Clock::time_point now) {
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch());
  puts_.note_reading(static_cast<std::uint64_t>(ns.count()));
  failures_.note_reading(static_cast<std::uint64_t>(ns.count()));
}

void PvaWitness::forget(std::uint32_t number) {
  puts_.forget(number);
  failures_.forget(number);
}

void PvaWitness::expire(std::uint64_t before_ns) {
  puts_.expire(before_ns);
  failures_.expire(before_ns);
}

Result<void> PvaWitness::reap(Clock::time_point now) {
  std::map<std::uint32_t, std::uint32_t> idle;  // entries by generation
  for (const auto& [key, source] : sources_)
    if (now - source.changed >= kIdle) ++idle[key.generation];
  for (auto& [serial, watched] : watched_) {
    const std::uint32_t held = held_by(watched.config.holder);
    const bool is_worth_it = idle[watched.config.generation] > std::max(kFewEntries, held / 2);
    if (is_worth_it && now - watched.renewed >= kIdle)
      if (auto ok = renew(watched, now); !ok) return ok;
  }
  const auto due =
      std::ranges::find_if(given_up_, [&](const GivenUp& one) { return now - one.since < kGrace; });
  const std::vector<GivenUp> over(given_up_.begin(), due);
  if (over.empty()) return {};
  std::set<std::uint32_t> generations;
  for (const GivenUp& one : over) generations.insert(one.generation);
  if (auto ok = collect(now); !ok) return ok;
  if (auto ok = erase(generations); !ok) return ok;
  for (const GivenUp& one : over) {
    if (one.holder != 0) {
      // Its rest was read when its probes were taken off.
      object_.holders()[one.holder] = {};
      free_holders_.push_back(one.holder);
    }
    lives_.erase(one.generation);
  }
  given_up_.erase(given_up_.begin(), due);
  return {};
}

// From now on its puts take new entries.
Result<void> PvaWitness::renew(Watched& watched, Clock::time_point now) {
  iocx_pva_ioc config = watched.config;
  config.generation = ++last_generation_;
  lives_[config.generation] = lives_.at(watched.config.generation);
  const auto pid = static_cast<std::uint32_t>(watched.pid);
  if (auto ok = object_.maps().iocs.update(pid, config); !ok) return ok;
  given_up_.push_back({watched.config.generation, 0, now});
  watched.config = config;
  watched.renewed = now;
  return {};
}

Result<void> PvaWitness::erase(const std::set<std::uint32_t>& generations) {
  std::vector<std::pair<iocx_pva_key, iocx_pva_put>> old;
  auto read = object_.maps().puts.for_each([&](const iocx_pva_key& key, const iocx_pva_put& put) {
    if (generations.contains(key.generation)) old.emplace_back(key, put);
  });
  if (!read) return read;
  iocx_pva_holder* const holders = object_.holders();
  for (const auto& [key, put] : old) {
    auto erased = object_.maps().puts.erase(key);
    if (!erased) return std::move(erased).error();
    for (const std::uint32_t holder : {IOCX_PVA_HOLDER_ALL, put.holder, put.user, put.client})
      __atomic_fetch_add(&holders[holder].freed, 1, __ATOMIC_RELAXED);
    sources_.erase(key);
  }
  return {};
}

}  // namespace ioc_exporter::pva
