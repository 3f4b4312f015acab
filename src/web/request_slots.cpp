#include "web/request_slots.h"

#include <algorithm>
#include <map>
#include <vector>

namespace ioc_exporter::web {
namespace {

std::size_t half_of(std::size_t number) {
  return std::max<std::size_t>(1, number / 2);
}

// An answer that the kernel takes at once needs no room here.
constexpr std::size_t kSmall = 16 * 1024;
// A client that takes its answer has it by then, on any network that is fit for scrapes.
constexpr std::chrono::seconds kTimeToTake{1};

}  // namespace

RequestSlots::RequestSlots(std::size_t scrapes)
    : scrapes_{.most = scrapes, .most_of_one = half_of(scrapes)},
      pages_{.most = half_of(scrapes), .most_of_one = half_of(half_of(scrapes))} {}

RequestSlots::Slot::Slot(RequestSlots& slots, Kind kind, const std::string& holder)
    : slots_(slots), kind_(kind), holder_(holder) {
  const std::scoped_lock lock(slots_.mutex_);
  Places& places = slots_.places(kind_);
  const auto own = places.holders.find(holder_);
  has_place_ = places.taken < places.most &&
               (own == places.holders.end() || own->second < places.most_of_one);
  if (!has_place_) return;
  ++places.taken;
  ++places.holders[holder_];
}

RequestSlots::Slot::~Slot() {
  if (!has_place_) return;
  const std::scoped_lock lock(slots_.mutex_);
  Places& places = slots_.places(kind_);
  --places.taken;
  const auto own = places.holders.find(holder_);
  if (--own->second == 0) places.holders.erase(own);
}

PendingAnswers::Answer::Answer(PendingAnswers& all, const std::string& holder, Peer peer,
                               std::size_t bytes)
    : all_(all) {
  std::vector<Peer> cut;
  {
    const std::scoped_lock lock(all_.mutex_);
    const auto now = Clock::now();
    if (bytes <= kSmall) bytes = 0;
    while (bytes != 0 && all_.bytes_ != 0 && all_.bytes_ + bytes > all_.most_) {
      const auto other = all_.who_gives_way(holder, bytes, now);
      if (other == all_.entries_.end()) break;
      other->given_up = true;
      all_.bytes_ -= other->bytes;
      cut.push_back(other->peer);
    }
    has_room_ = bytes == 0 || all_.bytes_ == 0 || all_.bytes_ + bytes <= all_.most_;
    if (has_room_) {
      all_.bytes_ += bytes;
      entry_ = all_.entries_.insert(all_.entries_.end(), {holder, std::move(peer), bytes, now});
    }
  }
  for (const Peer& one : cut) all_.cut_(one);
}

PendingAnswers::Answer::~Answer() {
  if (!has_room_) return;
  const std::scoped_lock lock(all_.mutex_);
  if (!entry_->given_up) all_.bytes_ -= entry_->bytes;
  all_.entries_.erase(entry_);
}

std::list<PendingAnswers::Entry>::iterator PendingAnswers::who_gives_way(const std::string& holder,
                                                                         std::size_t bytes,
                                                                         Clock::time_point now) {
  std::map<std::string, std::size_t> held;
  for (const Entry& entry : entries_)
    if (!entry.given_up) held[entry.holder] += entry.bytes;
  const std::size_t own = held[holder] + bytes;
  const auto most = std::ranges::max_element(held, {}, [](const auto& one) { return one.second; });
  const bool is_other = most->first != holder;
  if (is_other && most->second <= own) return entries_.end();
  // A holder with more than twice as much is not waited for.
  const bool at_once = is_other && most->second > 2 * own;
  return std::ranges::find_if(entries_, [&](const Entry& entry) {
    return !entry.given_up && entry.holder == most->first &&
           (at_once || now - entry.since >= kTimeToTake);
  });
}

}  // namespace ioc_exporter::web
