#include <algorithm>

#include "base/log.h"
#include "base/time_text.h"
#include "iocs/host.h"

namespace ioc_exporter::iocs {
namespace {

constexpr std::chrono::milliseconds kYouth{10'000};

}  // namespace

std::string subject_of(const Ioc& ioc) {
  return (ioc.kind == IocKind::base         ? "ioc "
          : ioc.is_gateway                  ? "gateway "
          : ioc.kind == IocKind::pva_server ? "PVA server "
                                            : "CA server ") +
         ioc.name + " (pid " + std::to_string(ioc.id.pid) + ")";
}

void KnownIocs::apply(const Changes& changes, Clock::time_point now) {
  for (const Ioc& ioc : changes.ended) end(ioc, now);
  for (const Ioc& ioc : changes.started) start(ioc, now);
  for (const Ioc& ioc : changes.changed) change(ioc, now);
  gone_.tidy(now);
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
  if (ioc.kind == IocKind::pva_server)
    log::info("found {}, executable {}", subject_of(ioc), ioc.executable);
  else if (ioc.kind == IocKind::ca_server)
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

void KnownIocs::change(const Ioc& ioc, Clock::time_point now) {
  const auto found = live_.find(ioc.id);
  if (found == live_.end()) return;
  LiveIoc& live = found->second;
  if (ioc.name != live.ioc.name) {  // its counts begin anew, as after a restart
    if (may_log(now)) log::info("{} is called {} from now on", subject_of(live.ioc), ioc.name);
    gone_.rename(live.ioc.name, live.ioc.user, live.ioc.user_name, live, now);
    begin_life(live, ioc, now);
  }
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

const LiveIoc* KnownIocs::find(const IocId& id, std::uint64_t serial) const {
  const auto found = live_.find(id);
  return found == live_.end() || found->second.serial != serial ? nullptr : &found->second;
}

bool KnownIocs::any_young(Clock::time_point now) const {
  return std::ranges::any_of(
      live_, [now](const auto& entry) { return now < entry.second.found + kYouth; });
}

void KnownIocs::want_database(const IocId& id) {
  if (const auto found = live_.find(id); found != live_.end())
    found->second.has_unknown_records = true;
}

void KnownIocs::want_databases(const std::set<std::string>& iocs) {
  for (auto& [id, live] : live_)
    if (iocs.contains(live.ioc.name)) live.has_unknown_records = true;
}

void KnownIocs::set_problem(const IocId& id, Concern concern, std::string problem) {
  if (const auto found = live_.find(id); found != live_.end())
    found->second.problems[static_cast<std::size_t>(concern)] = std::move(problem);
}

void KnownIocs::release(const std::string& name) {
  if (std::ranges::none_of(live_, [&](const auto& one) { return one.second.ioc.name == name; }))
    gone_.release(name);
}

std::map<std::uint32_t, std::string> KnownIocs::names() const {
  std::map<std::uint32_t, std::string> by_number;
  for (const auto& [name, number] : gone_.numbers()) by_number.emplace(number, name);
  return by_number;
}

std::unordered_set<std::string> KnownIocs::known_names() const {
  std::unordered_set<std::string> known;
  for (const auto& [name, number] : gone_.numbers()) known.insert(name);
  return known;
}

IocFacts KnownIocs::facts(const LiveIoc& live) const {
  IocFacts facts;
  facts.name = live.ioc.name;
  facts.up = true;
  facts.base = live.ioc.kind == IocKind::base;
  facts.pva_server = live.ioc.kind == IocKind::pva_server;
  facts.gateway = live.ioc.is_gateway;
  facts.pid = live.ioc.id.pid;
  facts.start_time_seconds = live.ioc.start_time_seconds;
  facts.base_version = live.ioc.base_version;
  facts.executable = live.ioc.executable;
  facts.directory = live.ioc.directory;
  facts.ca_port = live.ca_port;
  for (const ListeningSocket& socket : live.ioc.listening)
    if (std::ranges::find(facts.tcp_ports, socket.port) == facts.tcp_ports.end())
      facts.tcp_ports.push_back(socket.port);
  const std::string held =
      live.ioc.traced_or_stopped.empty() ? "" : "left alone: " + live.ioc.traced_or_stopped;
  const auto of = [&live](Concern concern) -> const std::string& {
    return live.problems[static_cast<std::size_t>(concern)];
  };
  for (const std::string* problem :
       {&of(Concern::database), &live.ioc.problem, &held, &of(Concern::records)})
    if (facts.problem.empty()) facts.problem = *problem;
  facts.database = live.database;
  facts.restarts = gone_.restarts(live.ioc.name);
  facts.supervisor = live.ioc.supervisor;
  facts.restarted_by_supervisor = live.restarted_by_supervisor;
  facts.user = live.ioc.user_name;
  facts.claimed_name = live.ioc.claimed_name;
  facts.contested_with = live.ioc.contested_with;
  return facts;
}

std::vector<IocFacts> KnownIocs::facts() const {
  std::vector<IocFacts> all;
  for (const auto& [id, live] : live_) all.push_back(facts(live));
  gone_.add_facts(all);
  return all;
}

}  // namespace ioc_exporter::iocs
