#include "iocs/host.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/ascii.h"
#include "base/log.h"
#include "base/time_text.h"
#include "iocs/find/listening_sockets.h"

namespace ioc_exporter::iocs {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kYouth{10'000};
// A database that is never initialized rests for this part of the time that its IOC was seen.
constexpr int kPartOfAge = 10;
constexpr int kRestAfterReading = 20;  // times what the reading took: at most 5 % of a core an IOC
// IOCs that start together are reported together; the first of them waits no longer than this.
constexpr milliseconds kTogether{300};
constexpr milliseconds kPortPatience{60'000};  // how long a CA server may take to get its port

bool listens_on(const Ioc& ioc, std::uint16_t port) {
  return std::ranges::any_of(ioc.listening,
                             [port](const auto& socket) { return socket.port == port; });
}

// Port of an IOC whose memory does not show it: the well-known one, or the only one there is.
std::optional<std::uint16_t> guess_ca_port(const Ioc& ioc) {
  if (listens_on(ioc, kCaServerPort)) return kCaServerPort;
  if (ioc.listening.size() == 1) return ioc.listening.front().port;
  return std::nullopt;
}

// CAP_SYS_PTRACE, bit 19 of CapEff in /proc/PID/status (linux/capability.h).
bool may_look_into_processes(const RootedFs& fs) {
  const auto status = fs.read("/proc/self/status");
  const auto effective = status ? number_after(*status, "CapEff:", 16) : std::nullopt;
  return effective && (*effective >> 19 & 1) != 0;
}

}  // namespace

std::string subject_of(const Ioc& ioc) {
  return (ioc.kind == IocKind::base ? "ioc " : "CA server ") + ioc.name + " (pid " +
         std::to_string(ioc.id.pid) + ")";
}

Host::Host(RootedFs fs, Options options)
    : fs_(std::move(fs)),
      reader_(options.reader ? std::move(options.reader) : std::make_shared<ProcessReader>(fs_)),
      finder_(fs_, options.finder, reader_),
      own_namespace_(finder_.own_namespace()),
      gone_(options.keep_gone, options.most_gone) {}

Result<void> Host::poll(Clock::time_point now, milliseconds patience) {
  seen_.listeners.rested = false;
  const bool was_looking = is_looking_;
  take_over_look(patience);
  // Results of a look are applied before the next look reports changes.
  if (was_looking) return seen_.result;
  asked_ = std::exchange(next_, {});
  asked_.hold_changes = ask_hold_changes_ ? ask_hold_changes_() : std::nullopt;
  is_looking_ = true;
  looker_.start([this, now] { look(now); });
  take_over_look(patience);
  return seen_.result;
}

// By a worker.
void Host::look(Clock::time_point now) {
  const auto began = Clock::now();
  for (const Listener& listener : asked_.speaking) finder_.speaks_ca(listener);
  if (asked_.reserved) finder_.reserve_names(std::move(*asked_.reserved));
  finder_.tell_hold_changes(asked_.hold_changes, now);
  look_ = {};
  auto changes = finder_.poll(now);
  if (!changes) {
    look_.result = changes.error();
    return;
  }
  look_.began = began;
  look_.changes = std::move(*changes);
  look_.listeners = {finder_.rested(), finder_.unclaimed(), finder_.ownerless()};
  look_.left_out = finder_.left_out();
  look_.task_changes = finder_.task_changes();
  const auto unreadable = finder_.costs().unreadable;
  if (unreadable > 0 && !may_look_into_processes(fs_))
    look_.result = error_in_words(std::to_string(unreadable) +
                                  " processes could not be looked into: run as root, with "
                                  "CAP_SYS_PTRACE");
  look_.seconds = std::chrono::duration<double>(Clock::now() - began).count();
}

// Applies the workers' results.
void Host::take_over_read(milliseconds patience) {
  if (!is_reading_ || !memory_reader_.wait(patience)) return;
  is_reading_ = false;
  std::ranges::move(reading_, std::back_inserter(due_));
  reading_.clear();
}

void Host::take_over_look(milliseconds patience) {
  if (!is_looking_ || !looker_.wait(patience)) return;
  is_looking_ = false;
  look_.began = std::max(seen_.began, look_.began);
  seen_ = std::move(look_);
}

void Host::apply(Clock::time_point now) {
  const Changes changes = std::exchange(seen_.changes, {});
  left_out_ = seen_.left_out;
  for (const Ioc& ioc : changes.ended) end(ioc, now);
  for (const Ioc& ioc : changes.evicted) evict(ioc, now);
  for (const Ioc& ioc : changes.started) start(ioc, now);
  for (const Ioc& ioc : changes.changed) change(ioc, now);
  gone_.tidy(now);
  left_out_.gone_evicted = gone_.evicted();
}

// Under the name that it has from now on.
void Host::begin_life(LiveIoc& live, const Ioc& ioc, Clock::time_point now) {
  static_cast<GoneIocs::Life&>(live) = gone_.begin(ioc.name, ioc.user, now);
  live.serial = next_serial_++;
}

void Host::start(const Ioc& ioc, Clock::time_point now) {
  LiveIoc& live = live_[ioc.id];
  begin_life(live, ioc, now);
  live.ioc = ioc;
  live.found = now;
  live.reading = Retry(now);
  live.ca_port = ioc.ca_port;
  if (!may_log(now)) return;
  if (ioc.kind == IocKind::ca_server)
    log::info("found {}, port {}, executable {}", subject_of(ioc), ioc.ca_port.value_or(0),
              ioc.executable);
  else
    log::info("found {}, Base {}, executable {}", subject_of(ioc),
              ioc.base_version.empty() ? "of unknown version" : ioc.base_version, ioc.executable);
  if (!ioc.problem.empty()) log::warn("ioc {}: {}", ioc.name, ioc.problem);
  if (!ioc.contested_with.empty())
    log::warn("{} of user {} claims the name {}, which an IOC of user {} has or had",
              subject_of(ioc), ioc.user_name, ioc.claimed_name, ioc.contested_with);
}

void Host::change(const Ioc& ioc, Clock::time_point now) {
  const auto found = live_.find(ioc.id);
  if (found == live_.end()) return;
  if (ioc.name != found->second.ioc.name) rename(found->second, ioc, now);
  const bool had_main_thread = !found->second.ioc.main_thread_ended;
  found->second.ioc = ioc;
  if (ioc.main_thread_ended && had_main_thread && may_log(now))
    log::info("{}: its main thread has ended, others run on", subject_of(ioc));
}

// Its counts begin anew, as after a restart.
void Host::rename(LiveIoc& live, const Ioc& ioc, Clock::time_point now) {
  if (may_log(now)) log::info("{} is called {} from now on", subject_of(live.ioc), ioc.name);
  gone_.rename(live.ioc.name, live.ioc.user, live.ioc.user_name, live, now);
  begin_life(live, ioc, now);
}

void Host::end(const Ioc& ioc, Clock::time_point now) {
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

void Host::evict(const Ioc& ioc, Clock::time_point now) {
  const auto found = live_.find(ioc.id);
  if (found == live_.end()) return;
  if (may_log(now))
    log::warn("{} of user {} is not followed any more: all places are taken", subject_of(ioc),
              ioc.user_name);
  gone_.forget_counts(ioc.name, found->second.number);
  live_.erase(found);
}

bool Host::may_log(Clock::time_point now) {
  const bool may = comings_and_goings_.allows(now);
  if (const std::uint64_t left_out = comings_and_goings_.take_left_out(); left_out > 0)
    log::warn("{} more IOCs came or went, too many to log", left_out);
  return may;
}

bool Host::is_due(const LiveIoc& live, Clock::time_point now) const {
  if (!live.reading.is_due(now) || left_alone(live)) return false;
  if (!live.ioc.target && live.ioc.pdbbase.empty()) return false;
  if (!live.database || !live.initialized || live.has_unknown_records) return true;
  return !live.ca_port && now < live.found + kPortPatience;
}

bool Host::read_databases(Clock::time_point now, milliseconds patience) {
  take_over_read(patience);
  if (is_reading_) return false;
  if (!due_.empty()) return true;  // apply_databases() first
  // Only this thread changes live_, but for what is atomic, so it may look at it without the mutex.
  for (const auto& [id, live] : live_)
    if (is_due(live, now)) reading_.push_back({live.ioc, live.serial, std::nullopt, {}});
  if (reading_.empty()) return false;
  const std::size_t all = reading_.size();
  is_reading_ = true;
  memory_reader_.start([this] { read_all(); });
  take_over_read(patience);
  return !is_reading_ && due_.size() < all;
}

// By the other one.
void Host::read_all() {
  const auto end = Clock::now() + kTogether;
  for (auto due = reading_.begin(); due != reading_.end(); ++due) {
    const auto began = Clock::now();
    if (began >= end || hands_off()) {
      reading_.erase(due, reading_.end());
      return;
    }
    due->reading = read(due->ioc);
    due->rest = kRestAfterReading * (Clock::now() - began);
  }
}

void Host::apply_databases(Clock::time_point now) {
  for (Due& due : std::exchange(due_, {})) {
    const auto live = live_.find(due.ioc.id);
    const bool there = live != live_.end() && live->second.serial == due.serial;
    if (there && due.reading && !left_alone(live->second))
      apply(live->second, std::move(*due.reading), now, due.rest);
  }
}

Host::Reading Host::read(const Ioc& ioc) const {
  Reading reading;
  const std::string subject = subject_of(ioc);
  auto memory = reader_->memory(ioc.id);
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
  // An IOC that is never initialized is read ever less often.
  if (!live.initialized) rest = std::max(rest, (now - live.found) / kPartOfAge);
  if (problem.empty())
    live.reading.succeeded(now + rest);
  else if (live.reading.failed(now, problem))
    log::warn("{}", problem);
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

void Host::release(const std::string& name) {
  if (std::ranges::none_of(live_, [&](const auto& one) { return one.second.ioc.name == name; }))
    gone_.release(name);
}

std::map<std::uint32_t, std::string> Host::names() const {
  std::map<std::uint32_t, std::string> by_number;
  for (const auto& [name, number] : gone_.numbers()) by_number.emplace(number, name);
  return by_number;
}

std::unordered_set<std::string> Host::known_names() const {
  std::unordered_set<std::string> known;
  for (const auto& [name, number] : gone_.numbers()) known.insert(name);
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
       {&of(Concern::database), &live.ioc.problem, &held, &of(Concern::records), &of(Concern::puts),
        &of(Concern::channels)})
    if (facts.problem.empty()) facts.problem = *problem;
  facts.database = live.database;
  facts.restarts = gone_.restarts(live.ioc.name);
  facts.user = live.ioc.user_name;
  facts.claimed_name = live.ioc.claimed_name;
  facts.contested_with = live.ioc.contested_with;
  return facts;
}

std::vector<IocFacts> Host::facts() const {
  std::vector<IocFacts> all;
  for (const auto& [id, live] : live_) all.push_back(facts(live));
  gone_.add_facts(all);
  return all;
}

}  // namespace ioc_exporter::iocs
