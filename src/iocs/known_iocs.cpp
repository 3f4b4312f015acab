#include "iocs/known_iocs.h"

#include <algorithm>

#include "base/time_text.h"

namespace ioc_exporter::iocs {

void KnownIocs::apply(const Changes& changes, std::uint64_t left_out, Clock::time_point now) {
  for (const Ioc& ioc : changes.ended) end(ioc, now);
  // Before others take the names.
  for (const Ioc& ioc : changes.changed) leave_name(ioc, now);
  for (const Ioc& ioc : changes.started) start(ioc, now);
  for (const Ioc& ioc : changes.changed) change(ioc, now);
  changed_ |= gone_.tidy(now) || !changes.empty() || left_out != left_out_;
  left_out_ = left_out;
}

// Under the name that it has from now on.
void KnownIocs::begin_life(LiveIoc& live, const Ioc& ioc, Clock::time_point now) {
  static_cast<GoneIocs::Life&>(live) = gone_.begin(ioc.name, ioc.user, ioc.supervisor, now);
  live.serial = next_serial_++;
}

void KnownIocs::start(const Ioc& ioc, Clock::time_point now) {
  LiveIoc& live = live_[ioc.id];
  begin_life(live, ioc, now);
  live.ioc = ioc;
  live.found = now;
  live.reading = Retry(now);
  live.ca_port = ioc.ca_port;
  if (!may_log(now)) return;
  if (ioc.kind == IocKind::other_pva)
    log::info("found {}, executable {}", subject_of(ioc), ioc.executable);
  else if (ioc.kind == IocKind::other_ca)
    log::info("found {}, port {}, executable {}", subject_of(ioc), ioc.ca_port.value_or(0),
              ioc.executable);
  else
    log::info("found {}, Base {}, executable {}{}", subject_of(ioc),
              ioc.base_version.empty() ? "of unknown version" : ioc.base_version, ioc.executable,
              live.restarted_by_supervisor ? ", restarted by " + ioc.supervisor.name : "");
  if (!ioc.problem.empty()) log::warn("ioc {}: {}", ioc.name, ioc.problem);
  if (!ioc.contested_with.empty())
    log::warn("{} of user {} claims the name {}, which an IOC of user {} has or had",
              subject_of(ioc), ioc.user_name, ioc.claimed_name, ioc.contested_with);
}

void KnownIocs::leave_name(const Ioc& ioc, Clock::time_point now) {
  const auto found = live_.find(ioc.id);
  if (found == live_.end() || found->second.ioc.name == ioc.name) return;
  const LiveIoc& live = found->second;
  if (may_log(now)) log::info("{} is called {} from now on", subject_of(live.ioc), ioc.name);
  gone_.rename(live.ioc.name, live.ioc.user, live.ioc.user_name, live, now);
}

void KnownIocs::change(const Ioc& ioc, Clock::time_point now) {
  const auto found = live_.find(ioc.id);
  if (found == live_.end()) return;
  LiveIoc& live = found->second;
  // Its counts begin anew, as after a restart.
  if (ioc.name != live.ioc.name) begin_life(live, ioc, now);
  const bool had_main_thread = !live.ioc.main_thread_ended;
  live.ioc = ioc;
  if (ioc.main_thread_ended && had_main_thread && may_log(now))
    log::info("{}: its main thread has ended, others run on", subject_of(ioc));
}

void KnownIocs::end(const Ioc& ioc, Clock::time_point now) {
  const auto found = live_.find(ioc.id);
  if (found == live_.end()) return;
  const LiveIoc& live = found->second;
  IocFacts last = facts(live);
  last.up = false;
  last.problem.clear();
  last.database.reset();
  last.end_time_seconds = now_seconds();
  if (may_log(now)) log::info("{} has ended", subject_of(ioc));
  gone_.end(std::move(last), live.ioc.user, live, keeps_name(live.ioc), now);
  live_.erase(found);
}

bool KnownIocs::may_log(Clock::time_point now) {
  const bool may = comings_and_goings_.allows(now);
  if (const std::uint64_t left_out = comings_and_goings_.take_left_out(); left_out > 0)
    log::warn("{} more IOCs came or went, too many to log", left_out);
  return may;
}

LiveIoc* KnownIocs::to_change(const IocId& id, std::uint64_t serial) {
  const auto found = live_.find(id);
  if (found == live_.end() || found->second.serial != serial) return nullptr;
  changed_ = true;
  return &found->second;
}

void KnownIocs::mark_outdated(const std::set<std::string>& iocs) {
  for (auto& [id, live] : live_)
    if (iocs.contains(live.ioc.name)) live.has_unknown_records = true;
}

std::uint32_t KnownIocs::number_of(const std::string& name) {
  changed_ |= !gone_.numbers().contains(name);
  return gone_.number_of(name);
}

void KnownIocs::release(const std::string& name) {
  if (std::ranges::any_of(live_, [&](const auto& one) { return one.second.ioc.name == name; }))
    return;
  gone_.release(name);
  changed_ = true;
}

}  // namespace ioc_exporter::iocs
