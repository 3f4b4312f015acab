#include "puts/server_probe/server_probe.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/same_inode.h"
#include "base/wall_clock.h"
#include "kernel/hit_cost.h"
#include "kernel/uprobe.h"

namespace ioc_exporter::ca {
namespace {

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

bool is_same(const elf::CodeFile& a, const elf::CodeFile& b) {
  return a.id().device == b.id().device && a.id().inode == b.id().inode;
}

// True: both may be one file to the kernel, by two mounts (base/same_inode.h).
bool resemble(const elf::CodeFile& a, const elf::CodeFile& b) {
  return is_same(a, b) || a.resembles(b);
}

bool is_among(const CodeFiles& files, const ServerFunctions& functions) {
  return std::ranges::any_of(functions.found, [&](const ServerFunction& function) {
    return std::ranges::any_of(files,
                               [&](const auto& file) { return resemble(*file, *function.file); });
  });
}

}  // namespace

ServerProbe::ServerProbe(ServerProbeObject object, std::shared_ptr<CaTotals> totals, CaTap* tap)
    : totals_(std::move(totals)), tap_(tap), object_(std::move(object)) {
  slots_.resize(object_.max_slots());
}

Result<ServerProbe> ServerProbe::start(const Options& options, std::shared_ptr<CaTotals> totals,
                                       CaTap* tap) {
  auto object = ServerProbeObject::load(options);
  if (!object) return std::move(object).error();
  static_cast<void>(kernel::measured_hit_cost());  // while the right to attach is there
  return ServerProbe(std::move(*object), std::move(totals), tap);
}

void ServerProbe::follow(const LiveIocs& iocs, bool hands_off, Clock::time_point now) {
  const auto left_alone = [hands_off](const iocs::LiveIoc& live) {
    return hands_off || !live.ioc.traced_or_stopped.empty();
  };
  for (auto& [serial, watched] : watched_) watched.seen = false;
  unheard_.clear();
  std::vector<Watched*> leave;
  const auto for_all = files_for_all(iocs);
  for (const auto& [id, live] : iocs)
    if (const auto known = watched_.find(live.serial);
        known != watched_.end() && must_leave(live, left_alone(live), for_all, known->second))
      leave.push_back(&known->second);
  std::vector<std::uint64_t> gone;
  for (auto& [serial, watched] : watched_)
    if (!watched.seen) {
      watched.left_alone = false;
      leave.push_back(&watched);
      gone.push_back(serial);
    }
  // First: an IOC that was restarted has the number of the one before.
  end(leave, now);
  drop(gone, now);
  for (const auto& [id, live] : iocs) start(live, left_alone(live), for_all, now);
}

void ServerProbe::leave_renamed(const iocs::Host& host, Clock::time_point now) {
  std::vector<Watched*> leave;
  std::vector<std::uint64_t> renamed;
  for (auto& [serial, watched] : watched_) {
    const auto live = host.live().find(watched.id);
    if (live == host.live().end() || live->second.serial == serial ||
        live->second.ioc.name == watched.name)
      continue;
    watched.left_alone = false;
    leave.push_back(&watched);
    renamed.push_back(serial);
  }
  end(leave, now);
  drop(renamed, now);
}

void ServerProbe::expect(const iocs::Host& host) {
  if (!tap_) return;
  for (const auto& [id, live] : host.live()) {
    const std::uint32_t number = is_ca() ? live.number : live.number | kPvaServer;
    const auto functions = server_functions(live.ioc, object_.protocol());
    const bool may_be_probed = functions.is_served && may_attach(functions);
    if (may_be_probed && (host.hands_off() || !host.left_alone(live))) {
      if (!watched_.contains(live.serial)) let_nobody_count(number);
    } else if (!host.hands_off() &&
               tap_->who_counts().source(number) != WhoCounts::Source::server) {
      let_packets_count(number);  // else follow() does, as it takes the probes off
    }
  }
}

void ServerProbe::let_packets_count(std::uint32_t in_tap) {
  if (tap_)
    trouble_.report("read the puts that packets have shown", tap_->let_packets_count(in_tap));
}

void ServerProbe::let_nobody_count(std::uint32_t in_tap) {
  if (tap_)
    trouble_.report("read the puts that packets have shown", tap_->let_nobody_count(in_tap));
}

// The next one under that name may be probed.
void ServerProbe::drop(const std::vector<std::uint64_t>& serials, Clock::time_point now) {
  for (const std::uint64_t serial : serials) {
    let_nobody_count(in_tap(watched_.at(serial)));
    forget(watched_.at(serial), now);
    watched_.erase(serial);
  }
}

// Files of IOCs whose main thread has ended. All IOCs on such a file share its attachment: one for
// a single process beside it would count that process' puts twice.
CodeFiles ServerProbe::files_for_all(const LiveIocs& iocs) const {
  CodeFiles files;
  const auto has_ended = [](const auto& one) { return one.second.ioc.main_thread_ended; };
  if (std::ranges::none_of(iocs, has_ended)) return files;
  for (bool grew = true; std::exchange(grew, false);)
    for (const auto& [id, live] : iocs) {
      const auto functions = server_functions(live.ioc, object_.protocol());
      if (!live.ioc.main_thread_ended && !is_among(files, functions)) continue;
      for (const ServerFunction& function : functions.found)
        if (std::ranges::find(files, function.file) == files.end()) {
          files.push_back(function.file);
          grew = true;
        }
    }
  return files;
}

// By PV Access packets show all puts; functions that tell of some would add to these.
bool ServerProbe::may_attach(const ServerFunctions& functions) const {
  return !functions.found.empty() && (is_ca() || !tap_ || functions.missing.empty());
}

// Whether its probes are to be detached.
bool ServerProbe::must_leave(const iocs::LiveIoc& live, bool left_alone, const CodeFiles& for_all,
                             Watched& watched) const {
  const auto functions = server_functions(live.ioc, object_.protocol());
  watched.seen = may_attach(functions);
  watched.left_alone = left_alone;
  // More functions: a library that came later. All begins anew.
  const bool changes = watched.functions != functions.found.size() ||
                       watched.for_all != is_among(for_all, functions);
  return (left_alone || changes) && watched.seen && !watched.probes.empty();
}

ServerProbe::Watched& ServerProbe::watch(const iocs::LiveIoc& live) {
  Watched& watched = watched_[live.serial];
  if (watched.generation == 0) {
    watched.generation = ++last_generation_;
    watched.number = live.number;
    watched.id = live.ioc.id;
    watched.name = live.ioc.name;
    lives_[watched.generation] = {watched.number, live.serial};
  }
  watched.seen = true;
  return watched;
}

void ServerProbe::start(const iocs::LiveIoc& live, bool left_alone, const CodeFiles& for_all,
                        Clock::time_point now) {
  const auto functions = server_functions(live.ioc, object_.protocol());
  if (!functions.is_served) return;
  std::string& why_not = unheard_[live.number];
  why_not = functions.missing;
  if (!may_attach(functions)) return;
  Watched& watched = watch(live);
  if (left_alone) {
    watched.kept.clear();
    why_not = "it is stopped or traced, or all probes are detached";
    return;
  }
  if (watched.probes.empty()) {
    if (const bool all = is_among(for_all, functions); std::exchange(watched.for_all, all) != all)
      watched.kept.clear();
    if (auto off = start_probes(live.ioc, functions, watched, now); !off.empty())
      why_not = std::move(off);
  }
}

// Why they are off; "": they are on.
std::string ServerProbe::start_probes(const iocs::Ioc& ioc, const ServerFunctions& functions,
                                      Watched& watched, Clock::time_point now) {
  if (!watched.attaching.is_due(now)) return watched.refused;
  if (watched.kept.empty()) watched.latest = now + kLongestBacklog;
  auto done = attach(watched, functions);
  if (done && !is_served(watched, ioc, now)) {
    watched.kept = std::exchange(watched.probes, {});
    return "what packets have counted is being served";
  }
  if (done) done = begin(watched, ioc, functions);
  if (!done) {
    watched.refused = done.error().message();
    watched.probes.clear();
    // After a time-out there is less to do the next time.
    if (done.error().code != std::errc::timed_out) let_packets_count(in_tap(watched));
    const bool by_packets = tap_ && tap_->who_counts().by_packets(in_tap(watched));
    const bool ended = done.error().code == std::errc::no_such_process;
    const char* const by = is_ca() ? "" : " by PV Access";
    if (watched.attaching.failed(now, watched.refused) && !ended)
      log::warn("ioc {}: {}: its puts{} are {}", watched.name, watched.refused, by,
                by_packets && ioc.own_net_namespace ? "counted from packets" : "not counted");
    return watched.refused;
  }
  if (tap_) tap_->let_server_count(in_tap(watched), watched.tells_results);
  watched.attaching.succeeded();
  log::info("ioc {}: puts are counted in its {}server", watched.name, is_ca() ? "" : "PV Access ");
  return {};
}

// What packets have counted. They count on while bytes wait in the server's sockets, then nobody
// does, for what it has read ahead.
bool ServerProbe::is_served(const Watched& watched, const iocs::Ioc& ioc, Clock::time_point now) {
  if (!tap_) return true;
  const WhoCounts& who = tap_->who_counts();
  if (who.by_packets(in_tap(watched))) {
    if (now < watched.latest && has_unread(ioc)) return false;
    let_nobody_count(in_tap(watched));
  }
  return who.is_settled(in_tap(watched), kernel_ns(Clock::now()));
}

bool ServerProbe::has_unread(const iocs::Ioc& ioc) {
  bool unread = false;
  const auto look = [&](const InetSocket& socket) {
    const auto is_its = [&](const auto& one) { return one.port == socket.local_port; };
    if (socket.unread > 0 && std::ranges::any_of(ioc.listening, is_its)) unread = true;
  };
  const auto looked = tap_->network().for_each_socket(SocketKind::connected, look);
  trouble_.report("look for puts that servers have not read", looked);
  return unread || !looked;
}

// From now on the server counts: until now the programs pass over it.
Result<void> ServerProbe::begin(Watched& watched, const iocs::Ioc& ioc,
                                const ServerFunctions& functions) {
  watched.tells_results = functions.tells_results;
  watched.tells_callbacks = functions.tells_callbacks;
  watched.functions = functions.found.size();
  if (auto ok = object_.maps().rest.update(watched.generation, {}, kernel::UpdateMode::any); !ok)
    return ok;
  watched.rest = {};
  if (is_ca()) totals_->to_others_channels.try_emplace(watched.number);
  forget_rest(watched.generation);
  iocx_server_ioc config{};
  config.bucket = ioc.ca_writes ? ioc.ca_writes->ca_bucket : 0;
  config.generation = watched.generation;
  config.by_db_addr = has_db_addr(ioc.base_version) ? 1 : 0;
  config.enum_type = enum_type(ioc.base_version);
  config.tells_results = functions.tells_results ? 1 : 0;
  config.tells_values = functions.tells_values && object_.has_put_log() ? 1 : 0;
  return object_.maps().iocs.update(static_cast<std::uint32_t>(watched.id.pid), config);
}

Result<void> ServerProbe::attach(Watched& watched, const ServerFunctions& functions) {
  auto kept = std::exchange(watched.kept, {});
  for (const ServerFunction& function : functions.found) {
    if (!object_.has_put_log() &&
        (is_ca() ? function.number == kCaFlush : is_for_put_log(function.number)))
      continue;
    if (const auto found = std::ranges::find_if(
            kept, [&](const auto& probe) { return probe && probe->function == function; });
        found != kept.end()) {
      watched.probes.push_back(std::move(*found));
      continue;
    }
    auto probe = attach_probe(watched, function);
    // On a busy host each may take longer than it is waited for: the next try has less to do.
    if (!probe && probe.error().code == std::errc::timed_out)
      watched.kept = std::exchange(watched.probes, {});
    if (!probe) return std::move(probe).error();
    watched.probes.push_back(std::move(*probe));
  }
  return {};
}

Result<std::shared_ptr<ServerProbe::Probe>> ServerProbe::attach_probe(
    const Watched& watched, const ServerFunction& function) {
  if (watched.for_all)
    if (auto there = probe_for_all(function)) return there;
  const std::int32_t pid = watched.for_all ? kernel::kAllProcesses : watched.id.pid;
  auto attached = object_.attacher().attach(
      function.number, {function.file, function.display_path, function.offset, pid});
  if (!attached) return std::move(attached).error();
  return std::make_shared<Probe>(Probe{function, std::move(*attached)});
}

// The one that is there already: two attachments for all would count each put twice.
std::shared_ptr<ServerProbe::Probe> ServerProbe::probe_for_all(
    const ServerFunction& function) const {
  for (const auto& [serial, watched] : watched_)
    for (const auto& probe : watched.probes.empty() ? watched.kept : watched.probes) {
      const ServerFunction& other = probe->function;
      if (!watched.for_all || other.number != function.number || other.offset != function.offset ||
          !resemble(*other.file, *function.file))
        continue;
      if (is_same(*other.file, *function.file)) return probe;
      const int fds[] = {other.file->fd()};
      const auto same = find_same_inode(function.file->fd(), fds, function.offset);
      if (!same) log::warn("compare two library files: {}", same.error().message());
      if (same && *same) return probe;
    }
  return nullptr;
}

void ServerProbe::end(const std::vector<Watched*>& those, Clock::time_point now) {
  std::vector<elf::FunctionProbe> probes;
  std::vector<Watched*> ended;
  for (Watched* watched : those) {
    watched->kept.clear();
    const auto held = std::exchange(watched->probes, {});
    if (held.empty()) continue;
    ended.push_back(watched);
    for (const auto& probe : held)
      if (probe.use_count() == 1) probes.push_back(std::move(probe->attached));
  }
  if (ended.empty()) return;
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
  trouble_.report("forget open put-callbacks", look_at_open_callbacks());
  for (const Watched* watched : ended)
    if (watched->left_alone)
      let_packets_count(in_tap(*watched));
    else
      let_nobody_count(in_tap(*watched));
}

void ServerProbe::detach_all(Clock::time_point now) {
  std::vector<Watched*> all;
  for (auto& [serial, watched] : watched_) {
    watched.left_alone = false;
    all.push_back(&watched);
  }
  end(all, now);
}

void ServerProbe::forget_process(const Watched& watched) {
  const auto pid = static_cast<std::uint32_t>(watched.id.pid);
  if (auto config = object_.maps().iocs.lookup(pid);
      config && *config && (*config)->generation == watched.generation)
    report_forgotten(object_.maps().iocs.erase(pid));
}

void ServerProbe::report_forgotten(const Result<bool>& erased) {
  trouble_.report("forget an IOC that the server probe counted",
                  erased ? Result<void>() : erased.error());
}

// Of an IOC that has ended.
void ServerProbe::forget(const Watched& watched, Clock::time_point now) {
  forget_process(watched);
  report_forgotten(object_.maps().rest.erase(watched.generation));
  forget_rest(watched.generation);
  lives_.at(watched.generation).ended = now;
}

ServerProbe::Watched* ServerProbe::of_generation(std::uint32_t generation) {
  const auto life = lives_.find(generation);
  return life == lives_.end() || life->second.ended ? nullptr : &watched_.at(life->second.serial);
}

std::optional<std::uint32_t> ServerProbe::number_of(std::uint32_t generation) const {
  const auto life = lives_.find(generation);
  return life == lives_.end() ? std::nullopt : std::optional(life->second.number);
}

std::set<std::uint32_t> ServerProbe::heard() const {
  std::set<std::uint32_t> numbers;
  for (const auto& [serial, watched] : watched_)
    if (!watched.probes.empty()) numbers.insert(watched.number);
  return numbers;
}

std::uint64_t ServerProbe::attachments() const {
  std::set<std::shared_ptr<const Probe>> all;
  for (const auto& [serial, watched] : watched_)
    all.insert(watched.probes.begin(), watched.probes.end());
  return all.size();
}

Result<void> ServerProbe::add_to(SelfSamples& self) const {
  self.maps.push_back(
      {is_ca() ? "ca_server_probe_slots" : "pva_puts", object_.held(), object_.max_slots()});
  const char* const name = object_.name();
  const auto& map = object_.maps().drops;
  auto counters = kernel::sum_per_cpu_counters(map, map.capacity());
  if (!counters) return std::move(counters).error();
  add_drops(self.drops, name, *counters, iocx_server_drop_labels);
  if (is_ca()) {
    self.drops[{name, "lost"}] += lost_results_;
    self.drops[{name, "unnamed"}] += totals_->puts.unnamed_by_server();
  } else {
    self.drops[{name, "full"}] += totals_->puts.overflowed() + totals_->outcomes.overflowed();
  }
  return {};
}

}  // namespace ioc_exporter::ca
