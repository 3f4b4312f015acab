// SpoolSink: a sink behind a queue on disk. What it is given waits in memory while there is room,
// then on disk, until the sink behind it, which has a thread of its own, takes it. While that
// fails, all that waits is on disk, what was under way included: an exporter that is killed leaves
// it to the next one. What was taken right before that may come again.
//
// A Kind says besides what delivery::Sink asks for:
//
//   to_bytes(entry), from_bytes(bytes)   an entry on disk; nothing where the bytes are none
//   entry_bytes(entry)                   what it takes in memory, about
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "delivery/courier.h"
#include "delivery/end_deadline.h"
#include "delivery/queue.h"
#include "delivery/sink.h"
#include "delivery/spool.h"

namespace ioc_exporter::delivery {

template <class Kind>
class SpoolSink : public Sink<typename Kind::Entry> {
 public:
  using Entry = typename Kind::Entry;
  // Null: it could not be opened, and memory is all there is.
  using Find = std::function<std::shared_ptr<Spool>()>;

  // `find`: the spool is there when the first item comes.
  SpoolSink(std::string name, std::unique_ptr<Sink<Entry>> sink, QueueBounds memory, Find find)
      : name_(std::move(name)),
        find_(std::move(find)),
        ready_(memory),
        courier_(std::move(sink), name_) {
    counts_.dropped = {{kRefused, 0}, {kSpoolBroken, 0}};
  }
  ~SpoolSink() override;

  void begin() override;
  Delivered deliver(std::span<const Entry> entries) override;
  void begin_end(std::chrono::steady_clock::time_point until) override;
  std::optional<SinkSample> behind() const override;

 private:
  using Clock = std::chrono::steady_clock;
  using Rows = std::vector<Spool::Row>;

  static constexpr std::size_t kBatch = 1024;
  static constexpr std::chrono::milliseconds kPause{1000};  // after trouble with the disk
  // That a receiver takes nothing, and says nothing, is slow until then, and a failure from then
  // on.
  static constexpr std::chrono::milliseconds kStuck{3000};
  static constexpr std::string_view kNobody = "";  // all of it is one's: what is there stays there

  bool has_rows() const { return spool_ && !is_lost_ && spool_->rows() > 0; }
  bool has_removed() const { return spool_ && !is_lost_ && spool_->has_removed(); }
  bool stays_in_memory() const { return !has_rows() && (!fails_ || !spool_ || is_lost_); }
  bool has_work() const {
    return handed_over_ || !ready_.empty() || has_rows() ||
           (spool_ && !is_lost_ && spool_->is_broken());
  }
  void run();
  void take_some(std::unique_lock<std::mutex>& lock);
  void take_from_disk();
  bool deliver_some(std::unique_lock<std::mutex>& lock);
  void keep_on_disk();
  void remove_from_disk(std::size_t rows, std::uint64_t items);
  void remove_the_rest();
  void check_lost();
  void keep_rest();

  const std::string name_;
  const Find find_;
  std::shared_ptr<Spool> spool_;  // from begin() on
  mutable std::mutex mutex_;
  std::condition_variable changed_, room_;
  Queue<Entry> ready_;        // older than all that is on disk
  std::size_t taken_ = 0;     // bytes of those that the courier took from there, at most
  bool fails_ = false;        // what comes goes to disk
  bool is_lost_ = false;      // the spool broke
  bool handed_over_ = false;  // nothing comes any more
  bool ends_ = false;
  EndDeadline end_;
  SinkSample counts_;

  // The thread's.
  Courier<Kind> courier_;
  bool from_disk_ = false;        // the courier's entries are the first ones on disk
  Clock::time_point taken_at_{};  // when the receiver last took some, or was to begin
  std::thread thread_;            // last: it ends first
};

template <class Kind>
SpoolSink<Kind>::~SpoolSink() {
  {
    const std::scoped_lock lock(mutex_);
    handed_over_ = true;
    changed_.notify_all();
  }
  if (!thread_.joinable()) return;
  thread_.join();
  keep_rest();
}

template <class Kind>
void SpoolSink<Kind>::begin() {
  const std::scoped_lock lock(mutex_);
  spool_ = find_();
  if (spool_) {
    counts_.spool.emplace();
    counts_.spool->found = spool_->items();
    if (const auto found = spool_->items(); found > 0)
      log::info("{}: {}: {} {} are on disk from before", Kind::kLog, name_, found, Kind::kItems);
  }
  thread_ = std::thread([this] { run(); });
}

template <class Kind>
void SpoolSink<Kind>::begin_end(Clock::time_point until) {
  const std::scoped_lock lock(mutex_);
  ends_ = true;
  end_.set(until);
  changed_.notify_all();
}

template <class Kind>
std::optional<SinkSample> SpoolSink<Kind>::behind() const {
  const std::scoped_lock lock(mutex_);
  SinkSample sample = counts_;
  if (sample.spool && !is_lost_) {
    sample.spool->waiting = spool_->items();
    sample.spool->bytes = spool_->bytes();
  }
  return sample;
}

template <class Kind>
Delivered SpoolSink<Kind>::deliver(std::span<const Entry> entries) {
  Delivered done;
  std::unique_lock lock(mutex_);
  if (stays_in_memory())
    while (done.entries < entries.size() &&
           ready_.push(entries[done.entries], kNobody, Kind::entry_bytes(entries[done.entries])) ==
               0)
      ++done.entries;
  changed_.notify_all();
  if (done.entries == entries.size()) return done;
  if (spool_ && !is_lost_) {
    const std::uint64_t held = ready_.bytes() + taken_;
    lock.unlock();
    Rows rows;
    for (const Entry& entry : entries.subspan(done.entries))
      rows.push_back({Kind::weight(entry), Kind::to_bytes(entry)});
    if (auto kept = spool_->append(rows, held); !kept) done.problem = kept.error();
    lock.lock();
    changed_.notify_all();
    if (!done.problem) return Delivered{entries.size()};
  }
  room_.wait_until(lock, std::min(Clock::now() + kPause, end_.at()),
                   [this] { return stays_in_memory() && ready_.empty(); });
  done.pause = std::chrono::milliseconds(0);
  return done;
}

template <class Kind>
void SpoolSink<Kind>::run() {
  end_.use_in_this_thread();
  std::unique_lock lock(mutex_);
  while (!ends_ || Clock::now() < end_.at()) {
    check_lost();
    take_some(lock);
    if (!courier_.entries().empty()) {
      if (deliver_some(lock)) continue;
      if (ends_) break;
      changed_.wait_until(lock, courier_.again_at(), [this] { return ends_; });
    } else if (has_rows()) {  // that cannot be read now
      if (ends_) break;
      changed_.wait_for(lock, kPause, [this] { return ends_; });
    } else if (handed_over_) {
      break;
    } else if (!ends_ && has_removed()) {  // with the disk full, mostly
      if (changed_.wait_for(lock, kPause, [this] { return ends_ || has_work(); })) continue;
      lock.unlock();
      remove_the_rest();
      lock.lock();
    } else if (ends_) {
      changed_.wait_until(lock, end_.at(), [this] { return has_work(); });
    } else {
      changed_.wait(lock, [this] { return ends_ || has_work(); });
    }
  }
  fails_ = true;  // from here on
}

template <class Kind>
void SpoolSink<Kind>::take_some(std::unique_lock<std::mutex>& lock) {
  if (!courier_.entries().empty()) return;
  taken_at_ = Clock::now();
  const std::size_t before = ready_.bytes();
  courier_.entries() = ready_.take(kBatch);
  taken_ = before - ready_.bytes();
  if (ready_.empty()) room_.notify_all();
  from_disk_ = false;
  if (!courier_.entries().empty() || !has_rows()) return;
  lock.unlock();
  take_from_disk();
  lock.lock();
}

template <class Kind>
void SpoolSink<Kind>::take_from_disk() {
  const auto rows = spool_->first(kBatch);
  courier_.report("read what waits for " + name_, rows ? Result<void>() : rows.error());
  if (!rows) return;
  from_disk_ = true;
  for (const auto& row : *rows) {
    auto entry = Kind::from_bytes(row.bytes);
    const bool is_good = entry && Kind::weight(*entry) == row.items;
    if (is_good) {
      courier_.entries().push_back(std::move(*entry));
      continue;
    }
    // Those before it are sent first.
    if (!courier_.entries().empty()) return;
    remove_from_disk(1, row.items);
    const std::scoped_lock lock(mutex_);
    counts_.dropped[kSpoolBroken] += row.items;
  }
}

// What it holds is counted, once. The mutex is held.
template <class Kind>
void SpoolSink<Kind>::check_lost() {
  if (!spool_ || is_lost_ || !spool_->is_broken()) return;
  is_lost_ = true;
  // Of what is under way, the rows are there, too.
  std::uint64_t lost = spool_->items();
  if (from_disk_)
    for (const Entry& entry : courier_.entries()) lost -= Kind::weight(entry);
  from_disk_ = false;
  counts_.dropped[kSpoolBroken] += lost;
  log::error(
      "{}: {}: {} {} on disk are lost; there is no queue on disk until the exporter is started "
      "again",
      Kind::kLog, name_, lost, Kind::kItems);
}

template <class Kind>
void SpoolSink<Kind>::remove_from_disk(std::size_t rows, std::uint64_t items) {
  courier_.report("remove what was sent to " + name_, spool_->remove_first(rows, items));
}

template <class Kind>
void SpoolSink<Kind>::remove_the_rest() {
  courier_.report("remove what was sent to " + name_, spool_->remove_removed());
}

template <class Kind>
bool SpoolSink<Kind>::deliver_some(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  const auto round = courier_.deliver_some();
  lock.lock();
  counts_.delivered += round.delivered;
  counts_.dropped[kRefused] += round.refused;
  counts_.failures += round.problem.empty() ? 0u : 1u;
  counts_.problem = round.problem;
  if (round.entries > 0) taken_at_ = Clock::now();
  const bool is_stuck = round.entries == 0 && Clock::now() - taken_at_ >= kStuck;
  fails_ = is_stuck || (!round.problem.empty() && !round.goes_on);
  const bool keep = fails_ && !from_disk_;
  if (!spool_ || is_lost_) return round.goes_on;
  lock.unlock();
  if (from_disk_ && round.entries > 0)
    remove_from_disk(round.entries, round.delivered + round.refused);
  if (keep) keep_on_disk();
  lock.lock();
  check_lost();
  return round.goes_on;
}

// What waits in memory goes before what is on disk.
template <class Kind>
void SpoolSink<Kind>::keep_on_disk() {
  std::vector<Entry>& entries = courier_.entries();
  std::unique_lock lock(mutex_);
  const std::vector<Entry> behind = ready_.first(ready_.size());
  lock.unlock();
  if (entries.empty() && behind.empty()) return;
  Rows rows;
  for (const auto* some : {&std::as_const(entries), &behind})
    for (const Entry& entry : *some) rows.push_back({Kind::weight(entry), Kind::to_bytes(entry)});
  const auto kept = spool_->prepend(rows);
  courier_.report("keep what waits for " + name_, kept);
  if (!kept) return;  // it stays where it has its bound
  lock.lock();
  (void)ready_.take(behind.size());
  taken_ = 0;
  from_disk_ = true;
  const std::size_t more = std::min(behind.size(), kBatch - std::min(kBatch, entries.size()));
  entries.insert(entries.end(), behind.begin(), behind.begin() + static_cast<std::ptrdiff_t>(more));
}

// At the end.
template <class Kind>
void SpoolSink<Kind>::keep_rest() {
  if (spool_ && !is_lost_) {
    if (from_disk_) courier_.entries().clear();
    if (spool_->has_removed()) remove_the_rest();
    if (!ready_.empty() || !courier_.entries().empty()) {
      from_disk_ = false;
      keep_on_disk();
    }
    if (from_disk_) courier_.entries().clear();
    if (const auto left = spool_->items(); left > 0)
      log::info("{}: {}: {} {} wait on disk for the next start", Kind::kLog, name_, left,
                Kind::kItems);
  }
  std::uint64_t lost = 0;
  for (const Entry& entry : courier_.entries()) lost += Kind::weight(entry);
  for (const Entry& entry : ready_.take(ready_.size())) lost += Kind::weight(entry);
  if (lost > 0)
    log::warn("{}: {}: {} {} were not taken before the end", Kind::kLog, name_, lost, Kind::kItems);
}

}  // namespace ioc_exporter::delivery
