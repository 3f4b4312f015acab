#include "puts/pva/witness.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "iocs/find/inspector.h"
#include "kernel/take_off.h"

namespace ioc_exporter::pva {
namespace {

bool has_any(const iocs::Ioc& ioc, std::initializer_list<std::uint32_t> functions) {
  return std::ranges::any_of(functions, [&](std::uint32_t wanted) {
    return std::ranges::find(ioc.pva_puts, wanted, &iocs::PvaPutTarget::function) !=
           ioc.pva_puts.end();
  });
}

}  // namespace

// Of iocs::Inspector::pva_put_functions(): each in all its spellings.
std::string what_is_missing(const iocs::Ioc& ioc) {
  const bool qsrv1 = has_any(ioc, {0, 1});
  const bool qsrv2 = has_any(ioc, {6});
  if (!qsrv1 && !qsrv2)
    return "its files name no functions of QSRV that a put enters (stripped, or of a version that "
           "is not known?)";
  std::string missing;
  const auto want = [&](bool there, const char* what) {
    if (!there) missing += (missing.empty() ? "" : ", ") + std::string(what);
  };
  if (qsrv1) {
    want(has_any(ioc, {2, 3}), "puts to groups of QSRV 1");
    want(has_any(ioc, {4, 5}), "failures of QSRV 1");
  }
  if (qsrv2) {
    want(has_any(ioc, {7, 8}), "puts to groups of QSRV 2");
    want(has_any(ioc, {9, 10}), "failures of QSRV 2");
  }
  return missing.empty() ? "" : "its files name no functions to hear of " + missing;
}

PvaWitness::PvaWitness(PvaWitnessObject object) : object_(std::move(object)) {
  for (std::uint32_t i = IOCX_PVA_IOCS; i > 0; --i)
    free_holders_.push_back(IOCX_PVA_HOLDER_IOC + i - 1);
}

Result<PvaWitness> PvaWitness::start(const Options& options) {
  auto object = PvaWitnessObject::load(options.ring, options.traces);
  if (!object) return std::move(object).error();
  return PvaWitness(std::move(*object));
}

void PvaWitness::follow(const std::vector<WitnessedIoc>& iocs, Clock::time_point now) {
  for (auto& [serial, watched] : watched_) watched.seen = false;
  unheard_.clear();
  std::vector<Watched*> leave;
  for (const WitnessedIoc& ioc : iocs) {
    const auto known = watched_.find(ioc.serial);
    if (known == watched_.end()) continue;
    Watched& watched = known->second;
    watched.seen = true;
    // A library that came later: all begins anew.
    const bool changed = watched.functions != ioc.ioc->pva_puts.size();
    if (!watched.probes.empty() && (ioc.left_alone || changed)) leave.push_back(&watched);
  }
  std::vector<std::uint64_t> gone;
  for (auto& [serial, watched] : watched_)
    if (!watched.seen) {
      leave.push_back(&watched);
      gone.push_back(serial);
    }
  end(leave, now);
  for (const std::uint64_t serial : gone) forget_life(serial, now);
  for (const WitnessedIoc& ioc : iocs) look_at(ioc, now);
}

void PvaWitness::look_at(const WitnessedIoc& ioc, Clock::time_point now) {
  const iocs::Ioc& about = *ioc.ioc;
  if (about.kind != iocs::IocKind::base || !about.serves_pva) return;
  std::string& why_not = unheard_[ioc.number];
  why_not = what_is_missing(about);
  if (about.pva_puts.empty()) return;
  Watched* const watched = start_life(ioc);
  if (watched == nullptr) {
    why_not = "there are too many IOCs";
    return;
  }
  watched->seen = true;
  std::string off;
  if (about.main_thread_ended) off = "its main thread has ended";
  if (ioc.left_alone) off = "it is stopped or traced, or all probes are detached";
  if (off.empty() && watched->probes.empty()) {
    off = "its probes could not be attached";
    if (watched->attaching.is_due(now)) {
      const auto done = attach(*watched, about);
      if (done) {
        watched->attaching.succeeded();
        watched->renewed = now;
        log::info("ioc {}: its PV Access server is heard about puts", watched->name);
        off.clear();
      } else {
        watched->probes.clear();
        off = done.error().message();
        const bool ended = done.error().code == std::errc::no_such_process;
        if (watched->attaching.failed(now, off) && !ended)
          log::warn("ioc {}: {}: its puts by PV Access are not counted", watched->name, off);
      }
    }
  }
  if (!off.empty()) why_not = off;
}

PvaWitness::Watched* PvaWitness::start_life(const WitnessedIoc& ioc) {
  const auto known = watched_.find(ioc.serial);
  if (known != watched_.end()) return &known->second;
  if (free_holders_.empty()) return nullptr;
  Watched& watched = watched_[ioc.serial];
  watched.number = ioc.number;
  watched.pid = ioc.ioc->id.pid;
  watched.name = ioc.ioc->name;
  watched.config.generation = ++last_generation_;
  watched.config.holder = free_holders_.back();
  free_holders_.pop_back();
  watched.config.user = IOCX_PVA_HOLDER_USER + ioc.ioc->user % IOCX_PVA_USER_BUCKETS;
  lives_[watched.config.generation] = {ioc.number};
  return &watched;
}

Result<void> PvaWitness::attach(Watched& watched, const iocs::Ioc& about) {
  for (const iocs::PvaPutTarget& target : about.pva_puts)
    if (auto ok = target.file->may_probe(target.offset); !ok)
      return error_in_words("attach uprobes to " + target.display_path + ": " +
                            ok.error().message());
  const auto pid = static_cast<std::uint32_t>(watched.pid);
  if (auto ok = object_.maps().iocs.update(pid, watched.config); !ok) return ok;
  watched.functions = about.pva_puts.size();
  for (const iocs::PvaPutTarget& target : about.pva_puts) {
    auto probe = object_.attach(
        {target.file->fd(), target.display_path, target.function, target.offset, watched.pid});
    if (!probe) return std::move(probe).error();
    watched.probes.push_back(std::move(*probe));
  }
  return {};
}

void PvaWitness::end(const std::vector<Watched*>& those, Clock::time_point now) {
  std::vector<UniqueFd> probes;
  for (Watched* watched : those)
    std::ranges::move(std::exchange(watched->probes, {}), std::back_inserter(probes));
  if (probes.empty()) return;
  kernel::take_off_together(std::move(probes));
  trouble_.report("read the last puts of PV Access servers", collect(now));
}

void PvaWitness::detach_all(Clock::time_point now) {
  std::vector<Watched*> all;
  for (auto& [serial, watched] : watched_) all.push_back(&watched);
  end(all, now);
}

// What is counted for it still is read on for a while.
void PvaWitness::forget_life(std::uint64_t serial, Clock::time_point now) {
  const Watched& watched = watched_.at(serial);
  const auto pid = static_cast<std::uint32_t>(watched.pid);
  auto config = object_.maps().iocs.lookup(pid);
  if (config && *config && (*config)->holder == watched.config.holder) {
    const auto erased = object_.maps().iocs.erase(pid);
    trouble_.report("forget an IOC whose PV Access server was heard",
                    erased ? Result<void>() : erased.error());
  }
  given_up_.push_back({watched.config.generation, watched.config.holder, now});
  watched_.erase(serial);
}

std::uint64_t PvaWitness::attachments() const {
  std::uint64_t all = 0;
  for (const auto& [serial, watched] : watched_) all += watched.probes.size();
  return all;
}

Result<std::vector<DropSample>> PvaWitness::drops() const {
  auto counters = kernel::sum_per_cpu_counters(object_.maps().drops, IOCX_PVA_DROPS);
  if (!counters) return std::move(counters).error();
  auto drops =
      drop_samples("pva_server_probe", *counters, iocx_pva_drop_labels, iocx_pva_drop_lost);
  drops.push_back(
      {"pva_server_probe", "put_series_full", puts_.overflowed() + failures_.overflowed()});
  return drops;
}

MapSample PvaWitness::map() const {
  return {"pva_puts", held_by(IOCX_PVA_HOLDER_ALL), IOCX_PVA_PUTS};
}

std::optional<std::uint32_t> PvaWitness::number_of(std::uint32_t generation) const {
  const auto life = lives_.find(generation);
  return life == lives_.end() ? std::nullopt : std::optional(life->second.number);
}

}  // namespace ioc_exporter::pva
