#include "puts/server_probe/server_probe.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/wall_clock.h"
#include "kernel/hit_cost.h"

namespace ioc_exporter::puts {
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

// One process each, as few as the IOCs are.
constexpr probes::Policy kPolicy{.whole_iocs = true,
                                 .most_apart = SIZE_MAX,
                                 .fewest_together = SIZE_MAX,
                                 .most_beside_off = SIZE_MAX};
constexpr std::chrono::seconds kAttachPatience{10};

}  // namespace

ServerProbe::ServerProbe(ServerProbeObject object, std::shared_ptr<Totals> totals, Tap* tap,
                         probes::Budget* budget)
    : totals_(std::move(totals)),
      tap_(tap),
      budget_(budget),
      object_(std::move(object)),
      engine_(probes::Attaching::by(object_.attacher()), kPolicy) {
  slots_.resize(object_.max_slots());
}

Result<ServerProbe> ServerProbe::start(const Options& options, std::shared_ptr<Totals> totals,
                                       Tap* tap, probes::Budget* budget) {
  auto object = ServerProbeObject::load(options);
  if (!object) return std::move(object).error();
  static_cast<void>(kernel::measured_hit_cost());  // while the right to attach is there
  return ServerProbe(std::move(*object), std::move(totals), tap, budget);
}

void ServerProbe::follow(const LiveIocs& iocs, bool hands_off, Clock::time_point now) {
  for (auto& [serial, watched] : watched_) watched.seen = false;
  unheard_.clear();
  engine_.follow(iocs, hands_off);
  std::vector<probes::ProbeRow> rows;
  std::set<std::uint64_t> begin_anew, gone;
  for (const auto& [id, live] : iocs) look_at(live, hands_off, rows, begin_anew);
  for (const auto& [serial, watched] : watched_)
    if (!watched.seen) gone.insert(serial);
  // First: an IOC that was restarted has the number of the one before.
  begin_anew.insert(gone.begin(), gone.end());
  leave(begin_anew, now);
  drop(gone, now);
  for (const auto& [id, live] : iocs)
    if (may_attach(server_functions(live.ioc, object_.protocol()))) watch(live);
  engine_.want(std::move(rows));
  const auto without_main_thread = [](const auto& one) { return one.second.ioc.main_thread_ended; };
  const auto by_all = [](const auto& one) { return one.second.attach == IOCX_ATTACH_ALL; };
  object_.look_at_kinds(std::ranges::any_of(iocs, without_main_thread) ||
                        std::ranges::any_of(watched_, by_all));
  engine_.tick(hooks(iocs, now), now, kAttachPatience);
  finish_switches();
  finish_ended(now);
  for (const auto& [id, live] : iocs) say_why_not(live);
}

// More functions: a library that came later. All begins anew.
void ServerProbe::look_at(const iocs::LiveIoc& live, bool hands_off,
                          std::vector<probes::ProbeRow>& rows,
                          std::set<std::uint64_t>& begin_anew) {
  const auto functions = server_functions(live.ioc, object_.protocol());
  if (!functions.has_server) return;
  unheard_[live.number] = functions.missing;
  if (!may_attach(functions)) return;
  add_rows(live, functions, rows);
  const auto known = watched_.find(live.serial);
  if (known == watched_.end()) return;
  Watched& watched = known->second;
  watched.seen = true;
  watched.left_alone = hands_off || !live.ioc.traced_or_stopped.empty();
  watched.waits &= !watched.left_alone;
  if (watched.attach != 0 && watched.functions != functions.found.size())
    begin_anew.insert(live.serial);
}

void ServerProbe::add_rows(const iocs::LiveIoc& live, const ServerFunctions& functions,
                           std::vector<probes::ProbeRow>& rows) const {
  for (const ServerFunction& one : functions.found) {
    const bool is_logged = is_ca() ? one.number == kCaFlush : is_for_put_log(one.number);
    if (is_logged && !object_.has_put_log()) continue;
    rows.push_back({.ioc = live.ioc.id,
                    .program = one.number,
                    .file = one.file,
                    .path = one.display_path,
                    .name = function_names(object_.protocol())[one.number],
                    .offset = one.offset});
  }
}

// Why its puts are not counted, where they are not.
void ServerProbe::say_why_not(const iocs::LiveIoc& live) {
  const auto known = watched_.find(live.serial);
  if (known == watched_.end() || known->second.attach != 0) return;
  const Watched& watched = known->second;
  std::string why =
      watched.waits ? "what packets have counted is being served" : engine_.why_not({live.ioc.id});
  if (!why.empty()) unheard_[live.number] = std::move(why);
  // After a time-out there is less to do the next time.
  const auto error = engine_.error_of({live.ioc.id});
  if (error && error->code != std::errc::timed_out) let_packets_count(watched.number);
}

void ServerProbe::leave_renamed(const LiveIocs& iocs, Clock::time_point now) {
  std::set<std::uint64_t> renamed;
  for (const auto& [serial, watched] : watched_) {
    const auto live = iocs.find(watched.id);
    if (live != iocs.end() && live->second.serial != serial &&
        live->second.ioc.name != watched.name)
      renamed.insert(serial);
  }
  leave(renamed, now);
  drop(renamed, now);
}

void ServerProbe::expect(const LiveIocs& iocs, bool hands_off) {
  if (!tap_) return;
  for (const auto& [id, live] : iocs) {
    const auto functions = server_functions(live.ioc, object_.protocol());
    const bool may_be_probed = functions.has_server && may_attach(functions);
    if (may_be_probed && (hands_off || live.ioc.traced_or_stopped.empty())) {
      if (!watched_.contains(live.serial)) let_nobody_count(live.number);
    } else if (!hands_off && choice().source(key_of(live.number)) != SourceChoice::Source::server) {
      let_packets_count(live.number);  // else follow() does, as it takes the probes off
    }
  }
}

void ServerProbe::let_packets_count(std::uint32_t ioc) {
  if (!tap_) return let_nobody_count(ioc);
  trouble_.report("read the puts that packets have shown", tap_->let_packets_count(key_of(ioc)));
}

void ServerProbe::let_nobody_count(std::uint32_t ioc) {
  if (tap_)
    trouble_.report("read the puts that packets have shown", tap_->let_nobody_count(key_of(ioc)));
  else
    choice().begin_nobody(key_of(ioc), clock_ns(CLOCK_MONOTONIC));
}

// The next one under that name may be probed.
void ServerProbe::drop(const std::set<std::uint64_t>& serials, Clock::time_point now) {
  for (const std::uint64_t serial : serials) {
    let_nobody_count(watched_.at(serial).number);
    forget(watched_.at(serial), now);
    watched_.erase(serial);
  }
}

// By PV Access packets show all puts; functions that report some would add to these.
bool ServerProbe::may_attach(const ServerFunctions& functions) const {
  return !functions.found.empty() && (is_ca() || !tap_ || functions.missing.empty());
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

probes::Hooks ServerProbe::hooks(const LiveIocs& iocs, Clock::time_point now) {
  return {[this, &iocs, now](const probes::Member& member, unsigned attach) {
            return count_by(iocs, member.ioc, attach, now);
          },
          [this, &iocs](const probes::Member& member, const Error& error) {
            if (const auto live = iocs.find(member.ioc); live != iocs.end())
              log_failure(live->second, error);
          }};
}

Result<probes::Switched> ServerProbe::count_by(const LiveIocs& iocs, const iocs::IocId& id,
                                               unsigned attach, Clock::time_point now) {
  if (Watched* const watched = counted(id)) {
    if (attach == 0) {
      forget_process(*watched);
      ended_.push_back(watched);
    } else {
      watched->config.attach = static_cast<std::uint8_t>(attach);
      auto done = object_.maps().iocs.update(static_cast<std::uint32_t>(id.pid), watched->config);
      if (!done) return done.error();
    }
    watched->is_switching = attach != 0;
    watched->attach = attach;
    return probes::Switched::now;
  }
  if (attach == 0) return probes::Switched::now;
  const iocs::LiveIoc& live = iocs.at(id);
  Watched& watched = watched_.at(live.serial);
  watched.waits = !has_caught_up(watched, live.ioc, now);
  if (watched.waits) return probes::Switched::later;
  if (auto done = begin(watched, live.ioc, attach); !done) return done.error();
  choice().begin_server(key_of(watched.number), watched.reports_results, clock_ns(CLOCK_MONOTONIC));
  log::info("ioc {}: puts are counted in its {}server", watched.name, is_ca() ? "" : "PV Access ");
  return probes::Switched::now;
}

void ServerProbe::log_failure(const iocs::LiveIoc& live, const Error& error) const {
  const bool by_packets = tap_ && totals_->choice.by_packets(key_of(live.number));
  log::warn("ioc {}: {}: its puts{} are {}", live.ioc.name, error.message(),
            is_ca() ? "" : " by PV Access",
            by_packets && live.ioc.own_net_namespace ? "counted from packets" : "not counted");
}

// What packets have counted. They count on while bytes wait in the server's sockets, then nobody
// does, for what it has read ahead.
bool ServerProbe::has_caught_up(Watched& watched, const iocs::Ioc& ioc, Clock::time_point now) {
  if (!tap_) return true;
  if (!watched.waits) watched.latest = now + kLongestBacklog;
  if (choice().by_packets(key_of(watched.number))) {
    if (now < watched.latest && has_unread(ioc)) return false;
    let_nobody_count(watched.number);
  }
  return choice().is_settled(key_of(watched.number), kernel_ns(Clock::now()));
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
Result<void> ServerProbe::begin(Watched& watched, const iocs::Ioc& ioc, unsigned attach) {
  const auto functions = server_functions(ioc, object_.protocol());
  watched.reports_results = functions.reports_results;
  watched.reports_callbacks = functions.reports_callbacks;
  watched.functions = functions.found.size();
  watched.seconds_each = seconds_of_puts(ioc, object_.protocol(), 1);
  if (auto ok = object_.maps().remainder.update(watched.generation, {}, kernel::UpdateMode::any);
      !ok)
    return ok;
  watched.remainder = {};
  if (is_ca()) totals_->to_others_channels.try_emplace(watched.number);
  forget_remainder(watched.generation);
  iocx_server_ioc& config = watched.config;
  // A mark of a switch before is none of a later one (counts() in bpf/puts/server_probe.bpf.h).
  const auto switches = static_cast<std::uint8_t>(config.switches + 1);
  config = {};
  config.switches = switches;
  config.attach = static_cast<std::uint8_t>(attach);
  config.bucket = ioc.ca_writes ? ioc.ca_writes->ca_bucket : 0;
  config.generation = watched.generation;
  config.by_db_addr = has_db_addr(ioc.base_version) ? 1 : 0;
  config.enum_type = enum_type(ioc.base_version);
  config.reports_results = functions.reports_results ? 1 : 0;
  config.reports_values = functions.reports_values && object_.has_put_log() ? 1 : 0;
  auto done = object_.maps().iocs.update(static_cast<std::uint32_t>(watched.id.pid), config);
  if (done) watched.attach = attach;
  return done;
}

ServerProbe::Watched* ServerProbe::counted(const iocs::IocId& id) {
  for (auto& [serial, watched] : watched_)
    if (watched.id == id && watched.attach != 0) return &watched;
  return nullptr;
}

// Their probes come off now.
void ServerProbe::leave(const std::set<std::uint64_t>& serials, Clock::time_point now) {
  std::set<iocs::IocId> iocs;
  for (const std::uint64_t serial : serials) {
    watched_.at(serial).left_alone = false;
    iocs.insert(watched_.at(serial).id);
  }
  engine_.take_off(hooks({}, now), iocs);
  finish_ended(now);
}

// The old ones are off.
void ServerProbe::finish_switches() {
  for (auto& [serial, watched] : watched_) {
    if (!std::exchange(watched.is_switching, false)) continue;
    ++watched.config.switches;
    trouble_.report(
        "end a switch of the server's probes",
        object_.maps().iocs.update(static_cast<std::uint32_t>(watched.id.pid), watched.config));
  }
}

// Of those that nothing counts any more: what their probes have counted last.
void ServerProbe::finish_ended(Clock::time_point now) {
  const auto ended = std::exchange(ended_, {});
  if (ended.empty()) return;
  for (std::uint32_t index = 0; index < slots_.size(); ++index) {
    const auto is_last = [generation = object_.slots()[index].who.generation](const Watched* one) {
      return one->generation == generation;
    };
    trouble_.report("read the server's last puts",
                    observe(index, std::ranges::any_of(ended, is_last), now));
  }
  for (Watched* watched : ended) {
    const auto remainder = object_.maps().remainder.lookup(watched->generation);
    trouble_.report("read the server's last puts", remainder ? Result<void>() : remainder.error());
    if (remainder && *remainder) observe_remainder(*watched, **remainder);
    trouble_.report("give up an IOC's channels", give_up_all(watched->generation, now));
  }
  trouble_.report("forget open put-callbacks", look_at_open_callbacks());
  for (const Watched* watched : ended)
    if (watched->left_alone)
      let_packets_count(watched->number);
    else
      let_nobody_count(watched->number);
}

void ServerProbe::detach_all(Clock::time_point now) {
  for (auto& [serial, watched] : watched_) watched.left_alone = false;
  engine_.take_off_all(hooks({}, now));
  finish_ended(now);
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
  report_forgotten(object_.maps().remainder.erase(watched.generation));
  forget_remainder(watched.generation);
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

std::uint64_t ServerProbe::attachments() const {
  return engine_.attachments();
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
    totals_->add_drops(self.drops, name, slot_in_sums(0));
  }
  return {};
}

}  // namespace ioc_exporter::puts
