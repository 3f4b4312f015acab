#include "app/ioc_watch.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "records/probe_points.h"
#include "iocs/ca_server_port.h"
#include "iocs/memory.h"
#include "ca/ports.h"

namespace ioc_exporter::app {

std::string subject_of(const iocs::Ioc& ioc) {
  return (ioc.kind == iocs::IocKind::base ? "ioc " : "CA server ") + ioc.name + " (pid " +
         std::to_string(ioc.id.pid) + ")";
}

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLongestPause{30'000};  // between two attempts to read a broken IOC
constexpr milliseconds kYouth{10'000};
constexpr int kRestAfterReading = 20;  // times what the reading took: at most 5 % of a core an IOC
// Many IOCs that start together are taken in together; the first of them waits no longer than this.
constexpr milliseconds kTogether{300};
constexpr milliseconds kPortPatience{60'000};  // how long a CA server may take to get its port

bool listens_on(const iocs::Ioc& ioc, std::uint16_t port) {
  return std::any_of(ioc.listening.begin(), ioc.listening.end(),
                     [port](const auto& socket) { return socket.port == port; });
}

records::ProbeFile probe_file(const iocs::ProbeTarget& where) {
  return {where.file.device, where.file.inode, where.offset};
}

// For an IOC whose memory does not tell: the well-known port, or the only one there is.
std::optional<std::uint16_t> guess_ca_port(const iocs::Ioc& ioc) {
  if (listens_on(ioc, ca::kCaServerPort)) return ca::kCaServerPort;
  if (ioc.listening.size() == 1) return ioc.listening.front().port;
  return std::nullopt;
}

}  // namespace

IocWatch::IocWatch(RootedFs fs, Options options, records::RecordProcess* records,
                   std::string why_no_records, records::RecordGuard* guard)
    : fs_(std::move(fs)),
      options_(options),
      records_(records),
      health_(fs_),
      guard_(guard),
      why_no_records_(std::move(why_no_records)),
      extras_(fs_, records) {}

void IocWatch::take_in(const iocs::Changes& changes, Clock::time_point now) {
  for (const auto& ioc : changes.ended) end(ioc, now);
  for (const auto& ioc : changes.started) start(ioc, now);
  for (const auto& ioc : changes.changed) {
    const auto found = live_.find(ioc.id);
    if (found == live_.end()) continue;
    found->second.ioc = ioc;
    follow_held(found->second);
  }
  forget_gone(now);
}

void IocWatch::read_due(Clock::time_point now, std::mutex& mutex) {
  // Only this thread changes live_, but for what is atomic, so it may look at it without the mutex.
  std::vector<Due> due;
  auto waiting_since = Clock::now();
  const auto take_in_now = [&] {
    const std::scoped_lock lock(mutex);
    take_in(std::exchange(due, {}), now);
  };
  for (auto& [id, live] : live_) {
    if (!is_due(live, now)) continue;
    const auto began = Clock::now();
    if (due.empty()) waiting_since = began;
    Reading reading = read(live.ioc);
    const auto ended = Clock::now();
    due.push_back({&live, std::move(reading), kRestAfterReading * (ended - began)});
    if (ended - waiting_since > kTogether) take_in_now();
  }
  if (!due.empty()) take_in_now();
}

void IocWatch::take_in(std::vector<Due> due, Clock::time_point now) {
  std::erase_if(due, [this](const Due& one) { return left_alone(*one.live); });
  std::vector<records::RecordProcess::Coming> coming;
  for (const auto& [live, reading, rest] : due)
    if (reading.database.ready() && live->ioc.target && !live->slot)
      coming.push_back({probe_file(*live->ioc.target),
                        static_cast<std::uint32_t>(reading.database.database->records.size())});
  if (records_ != nullptr)
    if (auto prepared = records_->prepare(coming); !prepared)
      spdlog::warn("{}", prepared.error().message());
  for (auto& [live, reading, rest] : due) take_in(*live, std::move(reading), now, rest);
}

void IocWatch::start(const iocs::Ioc& ioc, Clock::time_point now) {
  const std::uint32_t number = number_of(ioc.name);
  const auto [restarts, is_new] = restarts_.try_emplace(ioc.name, 0);
  if (!is_new) ++restarts->second;
  gone_.erase(ioc.name);
  Live& live = live_[ioc.id];
  live.ioc = ioc;
  live.number = number;
  live.found = now;
  live.next_read = now;
  live.problem = ioc.problem;
  live.ca_port = ioc.ca_port;
  if (ioc.kind == iocs::IocKind::ca_server)
    spdlog::info("found {}, port {}, executable {}", subject_of(ioc), ioc.ca_port.value_or(0),
                 ioc.executable);
  else
    spdlog::info("found {}, Base {}, executable {}", subject_of(ioc),
                 ioc.base_version.empty() ? "of unknown version" : ioc.base_version,
                 ioc.executable);
  if (!ioc.problem.empty()) spdlog::warn("ioc {}: {}", ioc.name, ioc.problem);
}

void IocWatch::end(const iocs::Ioc& ioc, Clock::time_point now) {
  const auto found = live_.find(ioc.id);
  if (found == live_.end()) return;
  Live& live = found->second;
  if (live.slot && records_ != nullptr) {
    guard_->forget(*live.slot);
    records_->unwatch(*live.slot);
    if (auto ok = extras_.forget(*live.slot); !ok) spdlog::warn("{}", ok.error().message());
  }
  Gone gone;
  gone.sample = describe(live);
  gone.sample.up = false;
  gone.sample.records_attached = false;
  gone.sample.problem.clear();
  gone.sample.notes.clear();
  gone.sample.database.reset();
  health_.forget(ioc.id);
  gone.number = live.number;
  gone.until = now + options_.keep_gone;
  spdlog::info("{} has ended", subject_of(ioc));
  gone_.insert_or_assign(live.ioc.name, std::move(gone));
  live_.erase(found);
}

void IocWatch::forget_gone(Clock::time_point now) {
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

bool IocWatch::is_due(const Live& live, Clock::time_point now) const {
  if (now < live.next_read || left_alone(live)) return false;
  if (!live.ioc.target && live.ioc.pdbbase.empty()) return false;
  if (!live.database || !live.initialized || live.unknown_records) return true;
  if (records_ != nullptr && live.ioc.target && !live.slot) return true;
  return !live.ca_port && now < live.found + kPortPatience;
}

IocWatch::Reading IocWatch::read(const iocs::Ioc& ioc) const {
  Reading reading;
  const std::string subject = subject_of(ioc);
  auto memory = iocs::ProcMemory::open(fs_, ioc.id);
  if (!memory) {
    reading.problem = memory.error().message();
    return reading;
  }
  auto database = iocs::read_database(**memory, ioc.pdbbase, subject);
  if (database)
    reading.database = std::move(*database);
  else
    reading.problem = database.error().message();
  auto port = iocs::read_ca_server_port(**memory, ioc.ca_server_port, subject);
  if (port && *port && listens_on(ioc, **port)) reading.ca_port = **port;
  if (ioc.ca_server_port.empty() || !port) reading.ca_port = guess_ca_port(ioc);
  return reading;
}

void IocWatch::take_in(Live& live, Reading reading, Clock::time_point now, Clock::duration rest) {
  live.ca_port = reading.ca_port;
  std::string problem = std::move(reading.problem);
  if (reading.database.ready()) {
    live.database = reading.database.database;
    live.offsets = reading.database.offsets;
    live.initialized = reading.database.initialized;
    live.unknown_records = false;
    if (auto counted = count_records(live, reading.database.offsets); !counted)
      problem = counted.error().message();
  }
  if (problem.empty()) {
    live.failures = 0;
    live.problem = live.ioc.problem;
    live.next_read = now + rest;
    return;
  }
  // A running IOC may be read in the middle of a change: only what happens twice in a row is worth
  // a line, and the same thing only once.
  if (live.failures > 0 && problem != live.reported) {
    spdlog::warn("{}", problem);
    live.reported = problem;
  }
  live.problem = std::move(problem);
  live.next_read =
      now + std::min(kLongestPause, milliseconds(500) * (1 << std::min(live.failures, 6u)));
  ++live.failures;
}

Result<void> IocWatch::count_records(Live& live, const iocs::FieldOffsets& offsets) {
  if (records_ == nullptr || !live.ioc.target) return {};
  const iocs::ProbeTarget& where = *live.ioc.target;
  records::RecordTarget target;
  target.pid = live.ioc.id.pid;
  target.attach_path = where.attach_path;
  target.file = probe_file(where);
  target.pact = offsets.pact;
  target.disa = offsets.disa;
  target.disv = offsets.disv;
  target.stat = offsets.stat;
  target.sevr = offsets.sevr;
  target.sdis = offsets.sdis;
  target.records = static_cast<std::uint32_t>(live.database->records.size());
  records::RecordPoints points = records::record_points(where, offsets, options_.record_puts);
  target.extras = std::move(points.extras);
  target.puts = points.puts;
  if (live.slot) return records_->update(*live.slot, target);
  auto slot = records_->watch(target);
  // It has ended meanwhile; the finder will say so.
  if (!slot && slot.error().code == std::errc::no_such_process) return {};
  if (!slot)
    return Error{slot.error().code,
                 "count records of " + subject_of(live.ioc) + ": " + slot.error().context};
  live.slot = *slot;
  guard_->watch(*slot, live.ioc.name);
  follow_held(live);
  live.notes = std::move(points.notes);
  spdlog::info("counting {} records of {} in {}{}", target.records, subject_of(live.ioc),
               where.display_path, where.deleted ? " (deleted on disk)" : "");
  return {};
}

void IocWatch::follow_held(const Live& live) {
  if (live.slot && guard_ != nullptr) guard_->set_held(*live.slot, !live.ioc.held.empty());
}

std::vector<IocWatch::Served> IocWatch::served() const {
  std::vector<Served> all;
  for (const auto& [id, live] : live_) all.push_back({live.number, &live.ioc, live.ca_port});
  return all;
}

std::vector<records::MemoryWatch::Job> IocWatch::memory_jobs() const {
  std::vector<records::MemoryWatch::Job> jobs;
  for (const auto& [id, live] : live_)
    if (live.database && live.initialized && !left_alone(live))
      jobs.push_back({id, live.ioc.variables, live.database, live.offsets});
  return jobs;
}

std::uint32_t IocWatch::number_of(const std::string& name) {
  const auto [number, is_new] = numbers_.try_emplace(name, next_number_);
  if (is_new) ++next_number_;
  return number->second;
}

void IocWatch::release(const std::string& name) {
  const auto number = numbers_.find(name);
  const bool is_ioc = gone_.contains(name) || std::ranges::any_of(live_, [&name](const auto& one) {
                        return one.second.ioc.name == name;
                      });
  if (number == numbers_.end() || is_ioc) return;
  forgotten_.push_back(number->second);
  numbers_.erase(number);
}

void IocWatch::set_network_problems(std::map<std::uint64_t, std::string> problems) {
  network_problems_ = std::move(problems);
}

bool IocWatch::any_young(Clock::time_point now) const {
  return std::any_of(live_.begin(), live_.end(),
                     [now](const auto& entry) { return now < entry.second.found + kYouth; });
}

std::vector<std::uint32_t> IocWatch::take_forgotten() {
  return std::exchange(forgotten_, {});
}

std::map<std::uint32_t, std::string> IocWatch::names() const {
  std::map<std::uint32_t, std::string> by_number;
  for (const auto& [name, number] : numbers_) by_number.emplace(number, name);
  return by_number;
}

std::vector<records::RecordExtras::Watched> IocWatch::watched() const {
  std::vector<records::RecordExtras::Watched> all;
  for (const auto& [id, live] : live_) {
    if (!live.slot || !live.database || left_alone(live)) continue;
    all.push_back({*live.slot, id.pid, records::completion_point(*live.ioc.target),
                   static_cast<std::uint32_t>(live.database->records.size())});
  }
  return all;
}

}  // namespace ioc_exporter::app
