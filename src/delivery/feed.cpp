#include "delivery/feed.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "delivery/sink.h"

namespace ioc_exporter::delivery {
namespace {

// A request to a receiver may take half of that.
constexpr std::chrono::seconds kStands{10};

}  // namespace

Feed::Feed() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_) throw std::bad_alloc();
}

SinkAccount& Feed::add_sink(std::string name) {
  return *sinks_.emplace_back(std::move(name), make_shared_memory<SinkAccount>()).second;
}

void Feed::copy_in(std::uint64_t at, std::string_view bytes) {
  const std::size_t place = at % kBytes, first = std::min(bytes.size(), kBytes - place);
  std::ranges::copy(bytes.substr(0, first), shared_->ring.data() + place);
  std::ranges::copy(bytes.substr(first), shared_->ring.data());
}

void Feed::copy_out(std::uint64_t at, std::span<char> bytes) const {
  for (std::size_t done = 0; done < bytes.size();) {
    const std::size_t place = (at + done) % kBytes,
                      more = std::min(bytes.size() - done, kBytes - place);
    std::copy_n(shared_->ring.data() + place, more, bytes.data() + done);
    done += more;
  }
}

void Feed::give(std::string_view item) {
  if (!has_sinks()) return;
  ++shared_->given;
  const std::uint64_t end = shared_->end;
  if (kBytes - (end - shared_->begin) < sizeof(Head) + item.size()) {
    ++shared_->no_room;
    return;
  }
  const Head head{item.size(), shared_->pushed + 1};
  copy_in(end, {reinterpret_cast<const char*>(&head), sizeof head});
  copy_in(end + sizeof head, item);
  shared_->end = end + sizeof head + item.size();
  ++shared_->pushed;  // last: see begin()
}

void Feed::wake() const {
  const std::uint64_t one = 1;
  (void)!::write(event_.get(), &one, sizeof one);
}

void Feed::wait_no_more() const {
  std::uint64_t all = 0;
  (void)!::read(event_.get(), &all, sizeof all);
}

// The exporter may have been taken over: sizes of its are not believed.
std::optional<Feed::Head> Feed::first() const {
  const std::uint64_t size = std::min<std::uint64_t>(shared_->end - shared_->begin, kBytes);
  Head head{};
  if (size < sizeof head) return std::nullopt;
  copy_out(shared_->begin, {reinterpret_cast<char*>(&head), sizeof head});
  head.size = std::min(head.size, size - sizeof head);
  return head;
}

std::optional<std::string> Feed::take() {
  const auto head = first();
  if (!head) return std::nullopt;
  std::string item(head->size, '\0');
  copy_out(shared_->begin + sizeof(Head), item);
  shared_->begin += sizeof(Head) + head->size;
  return item;
}

void Feed::begin() {
  const std::uint64_t pushed = shared_->pushed;  // before the ring, which is empty after that
  const auto head = first();
  const std::uint64_t taken = head ? head->number - 1 : pushed;
  for (const auto& [name, account] : sinks_) account->restart += taken - account->done();
}

std::vector<SinkSample> Feed::samples() const {
  std::vector<SinkSample> all;
  for (const auto& [name, account] : sinks_)
    all.push_back({.sink = name,
                   .delivered = account->delivered,
                   .filtered = account->filtered,
                   .dropped = {{kQueueFull, account->queue_full},
                               {kRefused, account->refused},
                               {kRestart, account->restart}},
                   .failures = account->failures});
  const std::uint64_t no_room = shared_->no_room;
  const std::uint64_t given = shared_->given;  // last: nothing is done with before it is given
  for (SinkSample& sample : all) {
    sample.dropped[kQueueFull] += no_room;
    sample.received = given;
    sample.waiting = given - sample.delivered - sample.filtered;
    for (const auto& [reason, count] : sample.dropped) sample.waiting -= count;
  }
  return all;
}

std::string Feed::why_stands() const {
  const auto now = std::chrono::steady_clock::now();
  const std::vector<SinkSample> all = samples();
  std::string words;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].waiting > 0 && now - sinks_[i].second->alive_at.load() > kStands)
      words += (words.empty() ? "" : ", ") + all[i].sink + " (" + std::to_string(all[i].waiting) +
               " wait)";
  return words;
}

}  // namespace ioc_exporter::delivery
