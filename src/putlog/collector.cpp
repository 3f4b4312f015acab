#include "putlog/collector.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/wall_clock.h"
#include "delivery/sink_families.h"
#include "exposition/page.h"
#include "kernel/load_error.h"
#include "putlog/value.h"
#include "puts/totals/put_families.h"

namespace ioc_exporter::putlog {
namespace {

constexpr const char* kProbe = "putlog";
constexpr std::size_t kMostAtOnce = 4096, kLeastAtOnce = 16;
// Memory for waiting puts, which is far more than in the ring: each byte becomes an Element.
constexpr std::size_t kMostBytesAtOnce = 16u << 20;
constexpr std::size_t kMostGroups = 4096, kMostFields = 1024;  // that are remembered
constexpr std::uint32_t kMiB = 1024 * 1024;

}  // namespace

PutLogRing::PutLogRing(const Options& options) : options_(options) {
  if (!options_.enabled) return;
  if (auto made = make(); !made) {
    problem_ = kernel::explain_load_error(made.error());
    ring_.reset();
  }
}

Result<void> PutLogRing::make() {
  auto shares = kernel::RingShares::create("putlog_shares", IOCX_PUTLOG_PLACES);
  if (!shares) return std::move(shares).error();
  shares_ = std::move(*shares);
  auto ring = kernel::EventRing::create("putlog_events", options_.buffer_mib * kMiB);
  if (!ring) return std::move(ring).error();
  ring_.emplace(std::move(*ring));
  return {};
}

kernel::RingUse PutLogRing::use() const {
  if (!ring_) return {};
  return {ring_->fd(),       shares_.fd(), ring_->size(), options_.value_bytes / 8 * 8,
          ring_->size() / 4, seed_,        options_.after};
}

void PutLogRing::note_read(std::span<const std::byte> event) const {
  std::uint32_t place;
  if (event.size() < sizeof(iocx_putlog_event)) return;
  std::memcpy(&place, event.data() + offsetof(iocx_putlog_event, place), sizeof place);
  shares_.note_read(place, event.size());
}

PutLogCollector::PutLogCollector(PutLogRing& ring, puts::PutsCollector& puts, Outlets* outlets)
    : ring_(ring),
      puts_(puts),
      outlets_(outlets),
      reader_([this](auto events, bool again) { return puts_.identify(events, again); },
              ring.answer_patience()) {}

PutLogCollector::~PutLogCollector() = default;  // the thread is the first to end

std::vector<ProbeState> PutLogCollector::probes() const {
  if (!is_enabled()) return {};
  return {{kProbe, ring_.problem()}};
}

void PutLogCollector::set_policy(std::shared_ptr<const policy::Policy> policy,
                                 const std::function<puts::PutsOfSlots()>& change) {
  const std::scoped_lock lock(policy_mutex_);
  auto before = change();
  policy_changes_.push_back({std::move(policy), std::move(before), clock_ns(CLOCK_MONOTONIC)});
}

// The thread starts with the first tick: before that, helper processes are still to be forked.
void PutLogCollector::tick(TimePoint) {
  if (!ring_.ring() || outlets_ == nullptr || thread_.joinable()) return;
  thread_ = std::jthread([this](const std::stop_token& stop) {
    ring_.ring()->serve(stop, sizeof(iocx_putlog_event),
                        [this](auto* left) { return read_some(left); });
  });
}

// Whether there is more to read. `left`: at the end, how many events still are; else nullptr.
bool PutLogCollector::read_some(std::size_t* left) {
  const EventReader::Losses lost = losses();  // before: all that came before them is read
  const std::size_t of_one =
      std::size_t{2} * ring_.use().value_bytes * sizeof(Element) + sizeof(PutEvent);
  const std::size_t most = std::min({kMostAtOnce, std::max(kLeastAtOnce, kMostBytesAtOnce / of_one),
                                     reader_.room(), left == nullptr ? kMostAtOnce : *left});
  std::size_t read = 0;
  if (most > 0) {
    auto taken = ring_.ring()->read(most, [this](auto event) {
      reader_.take(event);
      ring_.note_read(event);
    });
    trouble_.report("read puts to log", taken ? Result<void>() : taken.error());
    if (taken) read = *taken;
  }
  if (left != nullptr) *left -= read;
  const bool more = most > 0 && read == most && (left == nullptr || *left > 0);
  if (!more) reader_.note_losses(lost);
  {  // After reading: what came after a change of the policy is not judged before it.
    const std::scoped_lock lock(policy_mutex_);
    for (PolicyChange& change : std::exchange(policy_changes_, {}))
      reader_.set_policy(std::move(change.policy), std::move(change.before), change.ns);
  }
  auto events = reader_.finish(WallClock::read(), left != nullptr && !more);
  note_groups(events);
  outlets_->receive(events);
  return more;
}

void PutLogCollector::note_groups(std::span<const PutEvent> events) {
  for (const PutEvent& event : events) {
    if (event.fields.empty()) continue;
    const std::scoped_lock lock(groups_mutex_);
    const std::pair name(event.ioc, event.pv);
    if (groups_.size() >= kMostGroups && !groups_.contains(name)) continue;
    for (const PutField& one : event.fields)
      if (auto& fields = groups_[name]; fields.size() < kMostFields) fields.insert(one.field);
  }
}

kernel::LostEvents PutLogCollector::lost_of(std::size_t source) const {
  return puts_.lost_events(static_cast<iocx_putlog_source>(source));
}

EventReader::Losses PutLogCollector::losses() const {
  EventReader::Losses lost{};
  for (std::size_t source = 0; source < lost.size(); ++source) lost[source] = lost_of(source).all();
  return lost;
}

void PutLogCollector::collect(exposition::Page& page) {
  if (!is_enabled()) return;
  std::uint64_t &full = page.self.drops[{kProbe, "full"}],
                &lost = page.self.drops[{kProbe, "lost"}];
  full += reader_.lost_of_unknown_servers();
  lost += reader_.late_values();
  for (std::size_t source = 0; source < IOCX_PUTLOG_SOURCES; ++source) {
    const kernel::LostEvents events = lost_of(source);
    full += events.all();
    lost += events.answers;
  }
  if (outlets_ != nullptr)
    delivery::add_sinks("puts", outlets_->samples(), page.encoder, page.shared);
}

}  // namespace ioc_exporter::putlog
