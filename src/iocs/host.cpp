#include "iocs/host.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/ca_ports.h"
#include "iocs/ca_server_port.h"
#include "iocs/memory.h"

namespace ioc_exporter::iocs {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kYouth{10'000};
constexpr int kRestAfterReading = 20;  // times what the reading took: at most 5 % of a core an IOC
// Many IOCs that start together are told together; the first of them waits no longer than this.
constexpr milliseconds kTogether{300};
constexpr milliseconds kPortPatience{60'000};  // how long a CA server may take to get its port

bool listens_on(const Ioc& ioc, std::uint16_t port) {
  return std::ranges::any_of(ioc.listening,
                             [port](const auto& socket) { return socket.port == port; });
}

// For an IOC whose memory does not tell: the well-known port, or the only one there is.
std::optional<std::uint16_t> guess_ca_port(const Ioc& ioc) {
  if (listens_on(ioc, kCaServerPort)) return kCaServerPort;
  if (ioc.listening.size() == 1) return ioc.listening.front().port;
  return std::nullopt;
}

// CAP_SYS_PTRACE, bit 19 of CapEff in /proc/PID/status (linux/capability.h).
bool may_look_into_processes(const RootedFs& fs) {
  constexpr std::string_view kField = "CapEff:\t";
  const auto status = fs.read("/proc/self/status");
  const std::size_t at = status ? status->find(kField) : std::string::npos;
  if (at == std::string::npos) return false;
  return (std::strtoull(status->c_str() + at + kField.size(), nullptr, 16) >> 19 & 1) != 0;
}

}  // namespace

std::string subject_of(const Ioc& ioc) {
  return (ioc.kind == IocKind::base ? "ioc " : "CA server ") + ioc.name + " (pid " +
         std::to_string(ioc.id.pid) + ")";
}

Host::Host(RootedFs fs, Options options)
    : fs_(std::move(fs)), keep_gone_(options.keep_gone), finder_(fs_, std::move(options.finder)) {}

Result<void> Host::poll(Clock::time_point now) {
  auto changes = finder_.poll(now);
  if (!changes) return std::move(changes).error();
  changes_ = std::move(*changes);
  const auto unreadable = finder_.costs().unreadable;
  if (unreadable > 0 && !may_look_into_processes(fs_))
    return error_in_words(std::to_string(unreadable) +
                          " processes could not be looked into: run as root, with CAP_SYS_PTRACE");
  return {};
}

void Host::apply(Clock::time_point now) {
  const Changes changes = std::exchange(changes_, {});
  for (const Ioc& ioc : changes.ended) end(ioc, now);
  for (const Ioc& ioc : changes.started) start(ioc, now);
  for (const Ioc& ioc : changes.changed)
    if (const auto found = live_.find(ioc.id); found != live_.end()) found->second.ioc = ioc;
  forget_gone(now);
}

void Host::start(const Ioc& ioc, Clock::time_point now) {
  const std::uint32_t number = number_of(ioc.name);
  const auto [restarts, is_new] = restarts_.try_emplace(ioc.name, 0);
  if (!is_new) ++restarts->second;
  gone_.erase(ioc.name);
  LiveIoc& live = live_[ioc.id];
  live.ioc = ioc;
  live.serial = next_serial_++;
  live.number = number;
  live.found = now;
  live.reading = Retry(now);
  live.ca_port = ioc.ca_port;
  if (ioc.kind == IocKind::ca_server)
    spdlog::info("found {}, port {}, executable {}", subject_of(ioc), ioc.ca_port.value_or(0),
                 ioc.executable);
  else
    spdlog::info("found {}, Base {}, executable {}", subject_of(ioc),
                 ioc.base_version.empty() ? "of unknown version" : ioc.base_version,
                 ioc.executable);
  if (!ioc.problem.empty()) spdlog::warn("ioc {}: {}", ioc.name, ioc.problem);
}

void Host::end(const Ioc& ioc, Clock::time_point now) {
  const auto found = live_.find(ioc.id);
  if (found == live_.end()) return;
  const LiveIoc& live = found->second;
  Gone gone;
  gone.facts = facts(live);
  gone.facts.up = false;
  gone.facts.problem.clear();
  gone.facts.database.reset();
  gone.number = live.number;
  gone.until = now + keep_gone_;
  spdlog::info("{} has ended", subject_of(ioc));
  gone_.insert_or_assign(live.ioc.name, std::move(gone));
  live_.erase(found);
}

void Host::forget_gone(Clock::time_point now) {
  for (auto gone = gone_.begin(); gone != gone_.end();) {
    if (gone->second.until > now) {
      ++gone;
      continue;
    }
    forgotten_.push_back(gone->second.number);
    numbers_.erase(gone->first);
    restarts_.erase(gone->first);
    gone = gone_.erase(gone);
  }
}

bool Host::is_due(const LiveIoc& live, Clock::time_point now) const {
  if (!live.reading.is_due(now) || left_alone(live)) return false;
  if (!live.ioc.target && live.ioc.pdbbase.empty()) return false;
  if (!live.database || !live.initialized || live.has_unknown_records) return true;
  return !live.ca_port && now < live.found + kPortPatience;
}

bool Host::read_databases(Clock::time_point now) {
  // Only this thread changes live_, but for what is atomic, so it may look at it without the mutex.
  const auto end = Clock::now() + kTogether;
  bool more = false;
  for (auto& [id, live] : live_) {
    if (!is_due(live, now)) continue;
    const auto began = Clock::now();
    more = began >= end;
    if (more) break;
    Reading reading = read(live.ioc);
    due_.push_back({&live, std::move(reading), kRestAfterReading * (Clock::now() - began)});
  }
  return more;
}

void Host::apply_databases(Clock::time_point now) {
  for (auto& [live, reading, rest] : std::exchange(due_, {}))
    if (!left_alone(*live)) apply(*live, std::move(reading), now, rest);
}

Host::Reading Host::read(const Ioc& ioc) const {
  Reading reading;
  const std::string subject = subject_of(ioc);
  auto memory = ProcMemory::open(fs_, ioc.id);
  if (!memory) {
    reading.problem = memory.error().message();
    return reading;
  }
  auto database = read_database(**memory, ioc.pdbbase, subject);
  if (database)
    reading.database = std::move(*database);
  else
    reading.problem = database.error().message();
  auto port = read_ca_server_port(**memory, ioc.ca_server_port, subject);
  if (port && *port && listens_on(ioc, **port)) reading.ca_port = **port;
  if (ioc.ca_server_port.empty() || !port) reading.ca_port = guess_ca_port(ioc);
  return reading;
}

void Host::apply(LiveIoc& live, Reading reading, Clock::time_point now, Clock::duration rest) {
  live.ca_port = reading.ca_port;
  if (reading.database.ready()) {
    live.database = reading.database.database;
    live.offsets = reading.database.offsets;
    live.initialized = reading.database.initialized;
    live.has_unknown_records = false;
  }
  std::string& problem = live.problems[static_cast<std::size_t>(Concern::database)];
  problem = std::move(reading.problem);
  if (problem.empty())
    live.reading.succeeded(now + rest);
  else if (live.reading.failed(now, problem))
    spdlog::warn("{}", problem);
}

const LiveIoc* Host::find(const IocId& id, std::uint64_t serial) const {
  const auto found = live_.find(id);
  return found == live_.end() || found->second.serial != serial ? nullptr : &found->second;
}

bool Host::any_young(Clock::time_point now) const {
  return std::ranges::any_of(
      live_, [now](const auto& entry) { return now < entry.second.found + kYouth; });
}

void Host::want_database(const IocId& id) {
  if (const auto found = live_.find(id); found != live_.end())
    found->second.has_unknown_records = true;
}

void Host::set_problem(const IocId& id, Concern concern, std::string problem) {
  if (const auto found = live_.find(id); found != live_.end())
    found->second.problems[static_cast<std::size_t>(concern)] = std::move(problem);
}

std::uint32_t Host::number_of(const std::string& name) {
  const auto [number, is_new] = numbers_.try_emplace(name, next_number_);
  if (is_new) ++next_number_;
  return number->second;
}

void Host::release(const std::string& name) {
  const auto number = numbers_.find(name);
  const bool is_ioc = gone_.contains(name) || std::ranges::any_of(live_, [&name](const auto& one) {
                        return one.second.ioc.name == name;
                      });
  if (number == numbers_.end() || is_ioc) return;
  forgotten_.push_back(number->second);
  numbers_.erase(number);
}

std::vector<std::uint32_t> Host::take_forgotten() {
  return std::exchange(forgotten_, {});
}

std::map<std::uint32_t, std::string> Host::names() const {
  std::map<std::uint32_t, std::string> by_number;
  for (const auto& [name, number] : numbers_) by_number.emplace(number, name);
  return by_number;
}

std::unordered_set<std::string> Host::known_names() const {
  std::unordered_set<std::string> known;
  for (const auto& [name, number] : numbers_) known.insert(name);
  return known;
}

IocFacts Host::facts(const LiveIoc& live) const {
  IocFacts facts;
  facts.name = live.ioc.name;
  facts.up = true;
  facts.base = live.ioc.kind == IocKind::base;
  facts.pid = live.ioc.id.pid;
  facts.start_time_seconds = live.ioc.start_time_seconds;
  facts.base_version = live.ioc.base_version;
  facts.executable = live.ioc.executable;
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
       {&of(Concern::database), &live.ioc.problem, &held, &of(Concern::records), &of(Concern::puts),
        &of(Concern::channels)})
    if (facts.problem.empty()) facts.problem = *problem;
  facts.database = live.database;
  facts.restarts = restarts_.at(live.ioc.name);
  return facts;
}

std::vector<IocFacts> Host::facts() const {
  std::vector<IocFacts> all;
  for (const auto& [id, live] : live_) all.push_back(facts(live));
  for (const auto& [name, gone] : gone_) all.push_back(gone.facts);
  return all;
}

}  // namespace ioc_exporter::iocs
