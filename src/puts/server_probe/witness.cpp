#include "puts/server_probe/witness.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/same_inode.h"
#include "kernel/take_off.h"

namespace ioc_exporter::ca {
namespace {

constexpr const char* kNoFunctions =
    "its files name no functions write_action and write_notify_action, and they were not found by "
    "the server's table of commands";

// Before Base 3.15.1 a channel holds a dbAddr. The version may not be known: then it is a later
// one.
bool has_db_addr(const std::string& base_version) {
  return base_version.starts_with("3.13") || base_version.starts_with("3.14") ||
         base_version.starts_with("3.15.0");
}

// DBF_ENUM: two types were put before it in Base 3.16. The library's file name has such a version,
// too. 0: not known.
std::uint8_t enum_type(std::string_view base_version) {
  constexpr std::string_view kOfLibrary = "database ";
  if (base_version.starts_with(kOfLibrary)) base_version.remove_prefix(kOfLibrary.size());
  if (base_version.empty()) return 0;
  for (const std::string_view old : {"3.13", "3.14", "3.15"})
    if (base_version.starts_with(old)) return 9;
  return 11;
}

bool is_same(const iocs::CodeFile& a, const iocs::CodeFile& b) {
  return a.id().device == b.id().device && a.id().inode == b.id().inode;
}

// They may be one file to the kernel, by two mounts (base/same_inode.h).
bool resemble(const iocs::CodeFile& a, const iocs::CodeFile& b) {
  return is_same(a, b) || a.resembles(b);
}

// Of IOCs whose main thread has ended.
CodeFiles libraries_for_all(const std::vector<WitnessedIoc>& iocs) {
  CodeFiles libraries;
  for (const WitnessedIoc& ioc : iocs)
    if (const iocs::Ioc& about = *ioc.served.ioc; about.main_thread_ended && about.ca_writes)
      if (std::ranges::find(libraries, about.ca_writes->file) == libraries.end())
        libraries.push_back(about.ca_writes->file);
  return libraries;
}

bool is_among(const CodeFiles& libraries, const iocs::CaWriteTarget& target) {
  return std::ranges::any_of(libraries,
                             [&](const auto& file) { return resemble(*file, *target.file); });
}

}  // namespace

CaWitness::CaWitness(CaWitnessObject object, std::shared_ptr<CaTotals> totals, CaTap* tap)
    : totals_(std::move(totals)), tap_(tap), object_(std::move(object)) {
  slots_.resize(object_.max_slots());
}

Result<CaWitness> CaWitness::start(const Options& options, std::shared_ptr<CaTotals> totals,
                                   CaTap* tap) {
  auto object = CaWitnessObject::load(options.slots, options.ring, options.traces);
  if (!object) return std::move(object).error();
  return CaWitness(std::move(*object), std::move(totals), tap);
}

void CaWitness::follow(const std::vector<WitnessedIoc>& iocs, Clock::time_point now) {
  for (auto& [serial, watched] : watched_) watched.seen = false;
  unheard_.clear();
  switching_ = false;
  std::vector<Watched*> leave;
  const auto for_all = libraries_for_all(iocs);
  for (const WitnessedIoc& ioc : iocs) look_at(ioc, for_all, leave);
  std::vector<std::uint64_t> gone;
  for (auto& [serial, watched] : watched_)
    if (!watched.seen) {
      leave.push_back(&watched);
      gone.push_back(serial);
    }
  // First: an IOC that was restarted has the number of the one before.
  end(leave, now);
  for (const std::uint64_t serial : gone) {
    forget(watched_.at(serial));
    watched_.erase(serial);
  }
  for (const WitnessedIoc& ioc : iocs) start(ioc, for_all, now);
}

// What is to be taken off.
void CaWitness::look_at(const WitnessedIoc& ioc, const CodeFiles& for_all,
                        std::vector<Watched*>& leave) {
  if (ioc.served.ioc->kind != iocs::IocKind::base || !ioc.served.ioc->ca_writes) return;
  const auto known = watched_.find(ioc.serial);
  if (known == watched_.end()) return;
  Watched& watched = known->second;
  watched.seen = true;
  const bool changes = watched.for_all != is_among(for_all, *ioc.served.ioc->ca_writes);
  if ((ioc.left_alone || changes) && watched.probes) leave.push_back(&watched);
}

void CaWitness::start(const WitnessedIoc& ioc, const CodeFiles& for_all, Clock::time_point now) {
  const iocs::Ioc& about = *ioc.served.ioc;
  if (about.kind != iocs::IocKind::base) return;
  std::string& why_not = unheard_[ioc.served.number];
  if (!about.ca_writes) {
    why_not = kNoFunctions;
    return;
  }
  Watched& watched = watched_[ioc.serial];
  if (watched.generation == 0) {
    watched.generation = ++last_generation_;
    watched.number = ioc.served.number;
    watched.pid = about.id.pid;
    watched.name = about.name;
    watched.user = about.user;
    watched.by_db_addr = has_db_addr(about.base_version);
    watched.enum_type = enum_type(about.base_version);
    serials_[watched.generation] = ioc.serial;
  }
  watched.seen = true;
  if (ioc.left_alone) why_not = "it is stopped or traced, or all probes are detached";
  if (!why_not.empty()) return;
  if (!watched.probes) {
    watched.for_all = is_among(for_all, *about.ca_writes);
    start_probes(ioc, watched, now);
  }
  if (tap_ && ioc.served.ca_port) tap_->sources().set_port(watched.number, *ioc.served.ca_port);
}

void CaWitness::start_probes(const WitnessedIoc& ioc, Watched& watched, Clock::time_point now) {
  std::string& why_not = unheard_[ioc.served.number];
  why_not = watched.refused;
  if (!watched.attaching.is_due(now)) return;
  begin_switch();
  const auto done = attach(watched, *ioc.served.ioc);
  if (!done) {
    why_not = watched.refused = done.error().message();
    watched.probes.reset();
    const bool ended = done.error().code == std::errc::no_such_process;
    if (watched.attaching.failed(now, why_not) && !ended)
      log::warn("ioc {}: {}: its puts are {}", watched.name, why_not,
                tap_ ? "counted from packets" : "not counted");
    return;
  }
  why_not.clear();
  watched.since = Clock::now();
  if (tap_)
    trouble_.report("read the puts that packets have shown",
                    tap_->let_server_count(watched.number, watched.tells_results));
  watched.attaching.succeeded();
  log::info("ioc {}: its server is heard about puts", watched.name);
}

// Before the first probes that this follow() attaches or detaches.
void CaWitness::begin_switch() {
  if (!tap_ || std::exchange(switching_, true)) return;
  trouble_.report("look how many puts servers have not served", tap_->begin_source_switch());
}

// With those that tell what became of puts where all are found: in the database's file, which has
// the server since Base 3.15.
std::vector<CaWitness::Place> CaWitness::places_of(const iocs::Ioc& ioc) {
  const iocs::CaWriteTarget& writes = *ioc.ca_writes;
  std::vector<Place> places{{WitnessProgram::write, writes.write_action},
                            {WitnessProgram::notify, writes.write_notify_action}};
  if (!ioc.target || ioc.target->file != writes.file) return places;
  std::vector<Place> all = places;
  for (std::size_t i = places.size(); i < kWitnessFunctions.size(); ++i) {
    const auto function = ioc.target->functions.find(kWitnessFunctions[i]);
    if (function == ioc.target->functions.end()) return places;
    all.push_back({static_cast<WitnessProgram>(i), function->second.file_offset});
  }
  return all;
}

Result<void> CaWitness::attach(Watched& watched, const iocs::Ioc& ioc) {
  const iocs::CaWriteTarget& target = *ioc.ca_writes;
  const auto places = places_of(ioc);
  watched.tells_results = places.size() == kWitnessFunctions.size();
  for (const auto& [program, offset] : places)
    if (auto ok = target.file->may_probe(offset); !ok)
      return error_in_words("attach uprobes to " + target.display_path + ": " +
                            ok.error().message());
  if (auto ok = object_.maps().rest.update(watched.generation, {}, kernel::UpdateMode::any); !ok)
    return ok;
  watched.rest = {};
  forget_rest(watched.generation);
  iocx_witness_ioc config{};
  config.bucket = target.ca_bucket;
  config.generation = watched.generation;
  config.user = static_cast<std::uint16_t>(IOCX_WITNESS_SHARE_USER +
                                           watched.user % IOCX_WITNESS_USER_BUCKETS);
  config.by_db_addr = watched.by_db_addr ? 1 : 0;
  config.enum_type = watched.enum_type;
  if (auto ok = object_.maps().iocs.update(static_cast<std::uint32_t>(watched.pid), config); !ok)
    return ok;
  return attach_probes(watched, target, places);
}

Result<void> CaWitness::attach_probes(Watched& watched, const iocs::CaWriteTarget& target,
                                      const std::vector<Place>& places) {
  if (watched.for_all) watched.probes = probes_for_all(target);
  if (watched.probes) return {};
  watched.probes = std::make_shared<Probes>(Probes{target, {}});
  const std::int32_t pid = watched.for_all ? CaWitnessObject::kAllProcesses : watched.pid;
  for (const auto& [program, offset] : places) {
    auto probe = object_.attach(program, {target.file->fd(), target.display_path, offset, pid});
    if (!probe) return std::move(probe).error();
    watched.probes->attached.push_back(std::move(*probe));
  }
  return {};
}

// Those that are on this file already: two attachments for all would count each put twice.
std::shared_ptr<CaWitness::Probes> CaWitness::probes_for_all(
    const iocs::CaWriteTarget& target) const {
  for (const auto& [serial, watched] : watched_) {
    if (!watched.for_all || !watched.probes) continue;
    const iocs::CaWriteTarget& other = watched.probes->target;
    if (other.write_action != target.write_action || !resemble(*other.file, *target.file)) continue;
    if (is_same(*other.file, *target.file)) return watched.probes;
    const int fds[] = {other.file->fd()};
    const auto same = find_same_inode(target.file->fd(), fds, target.write_action);
    if (!same) log::warn("tell two library files apart: {}", same.error().message());
    if (same && *same) return watched.probes;
  }
  return nullptr;
}

void CaWitness::end(const std::vector<Watched*>& those, Clock::time_point now) {
  std::vector<UniqueFd> probes;
  std::vector<Watched*> ended;
  for (Watched* watched : those) {
    const auto held = std::exchange(watched->probes, nullptr);
    if (!held) continue;
    ended.push_back(watched);
    if (held.use_count() == 1) std::ranges::move(held->attached, std::back_inserter(probes));
  }
  if (ended.empty()) return;
  begin_switch();
  if (tap_)
    for (const Watched* watched : ended)
      trouble_.report("have the tap keep channels again", tap_->leave_server(watched->number));
  // Probes that stay, for other IOCs, pass over these.
  for (const Watched* watched : ended) forget_process(*watched);
  kernel::take_off_together(std::move(probes));
  for (std::uint32_t index = 0; index < slots_.size(); ++index)
    trouble_.report("read the server's last puts", observe(index, true, now));
  for (Watched* watched : ended) {
    const auto rest = object_.maps().rest.lookup(watched->generation);
    trouble_.report("read the server's last puts", rest ? Result<void>() : rest.error());
    if (rest && *rest) observe_rest(*watched, **rest);
    trouble_.report("give up an IOC's channels", give_up_all(watched->generation, now));
  }
  if (tap_) trouble_.report("read the puts that packets have shown", tap_->end_source_switch());
}

void CaWitness::detach_all(Clock::time_point now) {
  std::vector<Watched*> all;
  for (auto& [serial, watched] : watched_) all.push_back(&watched);
  switching_ = false;
  end(all, now);
}

void CaWitness::forget_process(const Watched& watched) {
  const auto pid = static_cast<std::uint32_t>(watched.pid);
  if (auto config = object_.maps().iocs.lookup(pid);
      config && *config && (*config)->generation == watched.generation)
    report_forgotten(object_.maps().iocs.erase(pid));
}

void CaWitness::report_forgotten(const Result<bool>& erased) {
  trouble_.report("forget an IOC that the server probe counted",
                  erased ? Result<void>() : erased.error());
}

// Of an IOC that has ended.
void CaWitness::forget(const Watched& watched) {
  forget_process(watched);
  report_forgotten(object_.maps().rest.erase(watched.generation));
  forget_rest(watched.generation);
  serials_.erase(watched.generation);
}

const CaWitness::Watched* CaWitness::of_generation(std::uint32_t generation) const {
  const auto serial = serials_.find(generation);
  return serial == serials_.end() ? nullptr : &watched_.at(serial->second);
}

CaWitness::Watched* CaWitness::of_generation(std::uint32_t generation) {
  const auto serial = serials_.find(generation);
  return serial == serials_.end() ? nullptr : &watched_.at(serial->second);
}

std::optional<CaWitness::Clock::time_point> CaWitness::heard_since(std::uint32_t number) const {
  for (const auto& [serial, watched] : watched_)
    if (watched.number == number && watched.probes) return watched.since;
  return std::nullopt;
}

std::uint64_t CaWitness::attachments() const {
  std::set<std::shared_ptr<const Probes>> seen;
  std::uint64_t all = 0;
  for (const auto& [serial, watched] : watched_)
    if (watched.probes && seen.insert(watched.probes).second)
      all += watched.probes->attached.size();
  return all;
}

Result<std::vector<DropSample>> CaWitness::drops() const {
  auto counters = kernel::sum_per_cpu_counters(object_.maps().drops, IOCX_WITNESS_DROPS);
  if (!counters) return std::move(counters).error();
  auto drops =
      drop_samples(kServerProbe, *counters, iocx_witness_drop_labels, iocx_witness_drop_lost);
  for (DropSample& drop : drops)
    if (drop.reason == iocx_witness_drop_labels[IOCX_WITNESS_DROP_RESULT])
      drop.count += lost_results_;
  return drops;
}

MapSample CaWitness::map() const {
  return {"ca_server_probe_slots", used_, object_.max_slots()};
}

}  // namespace ioc_exporter::ca
