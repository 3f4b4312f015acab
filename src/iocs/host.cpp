#include "iocs/host.h"

#include <linux/capability.h>

#include <iterator>

#include "base/process_stats.h"
#include "base/time_text.h"

namespace ioc_exporter::iocs {
namespace {

using std::chrono::milliseconds;

// A database that is never initialized is not read for this part of the time that its IOC was seen.
constexpr int kPartOfAge = 10;
constexpr int kPauseAfterReading = 20;  // times what the reading took: at most 5 % of a core an IOC
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

}  // namespace

Host::Host(RootedFs fs, Options options)
    : fs_(std::move(fs)),
      reader_(options.reader ? std::move(options.reader) : std::make_shared<ProcessReader>(fs_)),
      finder_(fs_, options.finder, reader_),
      own_namespace_(finder_.own_namespace()),
      known_(options.keep_gone, options.most_gone),
      view_(std::make_shared<const HostView>(known_)) {}

std::shared_ptr<const HostView> Host::view() const {
  const std::scoped_lock lock(mutex_);
  return view_;
}

void Host::publish() {
  if (!known_.take_changed()) return;
  next_.reserved = known_.gone_names();  // for their users
  auto view = std::make_shared<const HostView>(known_);
  const std::scoped_lock lock(mutex_);
  view_.swap(view);  // the former one goes after the lock
}

void Host::want_databases(std::set<std::string> iocs) {
  const std::scoped_lock lock(mutex_);
  outdated_.merge(std::move(iocs));
}

Result<void> Host::poll(Clock::time_point now, milliseconds patience) {
  seen_.listeners.idle = false;
  const bool was_scanning = is_scanning_;
  take_over_scan(patience);
  // Results of a scan are applied before the next one reports changes.
  if (was_scanning) return seen_.result;
  asked_ = std::exchange(next_, {});
  is_scanning_ = true;
  scanner_.start([this, now] { scan(now); });
  take_over_scan(patience);
  return seen_.result;
}

// By a worker.
void Host::scan(Clock::time_point now) {
  const auto began = Clock::now();
  for (const auto& [listener, kind] : asked_.speaking) finder_.speaks(listener, kind);
  if (asked_.reserved) finder_.reserve_names(std::move(*asked_.reserved));
  scan_ = {};
  auto changes = finder_.poll(now);
  if (!changes) {
    scan_.result = changes.error();
    return;
  }
  scan_.changes = std::move(*changes);
  scan_.listeners = {finder_.was_idle(), finder_.unclaimed(), finder_.ownerless()};
  scan_.left_out = finder_.left_out();
  scan_.task_changes = finder_.task_changes();
  const auto unreadable = finder_.costs().unreadable;
  if (unreadable > 0 && !has_capability(fs_, CAP_SYS_PTRACE))
    scan_.result = error_in_words(std::to_string(unreadable) +
                                  " processes could not be looked into: run as root, with "
                                  "CAP_SYS_PTRACE");
  scan_.seconds = std::chrono::duration<double>(Clock::now() - began).count();
}

// Applies the workers' results.
void Host::take_over_read(milliseconds patience) {
  if (!is_reading_ || !memory_reader_.wait(patience)) return;
  is_reading_ = false;
  std::ranges::move(reading_, std::back_inserter(due_));
  reading_.clear();
}

void Host::take_over_scan(milliseconds patience) {
  if (!is_scanning_ || !scanner_.wait(patience)) return;
  is_scanning_ = false;
  seen_ = std::move(scan_);
}

void Host::apply(Clock::time_point now) {
  known_.apply(std::exchange(seen_.changes, {}), seen_.left_out, now);
  publish();
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
  {
    const std::scoped_lock lock(mutex_);
    known_.mark_outdated(std::exchange(outdated_, {}));
  }
  // IOCs that could not be read come last: one whose memory does not answer holds up nobody then.
  for (const bool has_failed : {false, true})
    for (const auto& [id, live] : known_.live())
      if (live.problem.empty() != has_failed && is_due(live, now))
        reading_.push_back({live.ioc, live.serial, std::nullopt, {}});
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
    due->pause = kPauseAfterReading * (Clock::now() - began);
  }
}

void Host::apply_databases(Clock::time_point now) {
  for (Due& due : std::exchange(due_, {})) {
    LiveIoc* const live = known_.to_change(due.ioc.id, due.serial);
    if (live != nullptr && due.reading && !left_alone(*live))
      apply(*live, std::move(*due.reading), now, due.pause);
  }
  publish();
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

void Host::apply(LiveIoc& live, Reading reading, Clock::time_point now, Clock::duration pause) {
  live.ca_port = reading.ca_port;
  if (reading.database.ready()) {
    // Rooms keep what they have learnt of a database by its address: an equal one does not replace
    // it. One from before iocInit is replaced.
    if (!live.initialized || !live.database || *live.database != *reading.database.database)
      live.database = reading.database.database;
    live.offsets = reading.database.offsets;
    live.initialized = reading.database.initialized;
    live.has_unknown_records = false;
  }
  live.problem = std::move(reading.problem);
  // An IOC that is never initialized is read ever less often.
  if (!live.initialized) pause = std::max(pause, (now - live.found) / kPartOfAge);
  if (live.problem.empty())
    live.reading.succeeded(now + pause);
  else if (live.reading.failed(now, live.problem))
    log::warn("{}", live.problem);
}

}  // namespace ioc_exporter::iocs
