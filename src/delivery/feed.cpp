#include "delivery/feed.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <span>

#include "base/socket_message.h"
#include "delivery/sink.h"

namespace ioc_exporter::delivery {
namespace {

// A request to a receiver may take half of that.
constexpr std::chrono::seconds kStands{10};
// Of one message: many fit into a socket's buffer, which takes 200 KiB (net.core.wmem_default).
constexpr std::size_t kPart = 32u << 10;

}  // namespace

Feed::Feed() {
  for (Channel& channel : channels_) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
      throw std::bad_alloc();
    channel.own.reset(ends[0]);
    channel.its.reset(ends[1]);
  }
}

SinkAccount& Feed::add_sink(std::string name) {
  return *sinks_.emplace_back(std::move(name), make_shared_memory<SinkAccount>()).second;
}

void Feed::give(std::string_view item, Way way) {
  if (!has_sinks()) return;
  ++shared_->given;
  Channel& channel = at(way);
  const std::uint64_t size = item.size();
  if (channel.bytes + sizeof size + size > kBytes) {
    ++shared_->no_room;
    return;
  }
  channel.bytes += sizeof size + size;
  ++channel.number;
  const auto has_room = [size](const Batch& batch) {
    return batch.head.at == 0 && batch.bytes.size() + sizeof size + size <= kPart;
  };
  if (channel.waiting.empty() || !has_room(channel.waiting.back()))
    channel.waiting.push_back({{channel.number, 0, 0, 0}, {}});
  Batch& batch = channel.waiting.back();
  ++batch.head.items;
  batch.bytes.append(reinterpret_cast<const char*>(&size), sizeof size).append(item);
  batch.head.size = batch.bytes.size();
}

bool Feed::send() {
  bool all = true;
  for (const Way way : kWays) {
    Channel& channel = at(way);
    while (!channel.waiting.empty()) {
      auto& [head, bytes] = channel.waiting.front();
      const std::size_t part = std::min<std::size_t>(kPart, head.size - head.at);
      iovec parts[] = {{&head, sizeof head}, {bytes.data() + head.at, part}};
      if (!send_message(channel.own.get(), parts, -1)) break;
      shared_->sent[static_cast<std::size_t>(way)] = head.number + head.items - 1;
      head.at += part;
      if (head.at < head.size) continue;
      channel.bytes -= head.size;
      channel.waiting.pop_front();
    }
    all = all && channel.waiting.empty();
  }
  return all;
}

void Feed::send_all(std::chrono::steady_clock::time_point until) {
  constexpr int kPauseMs = 10;
  while (!send() && std::chrono::steady_clock::now() < until) ::poll(nullptr, 0, kPauseMs);
}

std::array<int, 2> Feed::events() const {
  return {channels_[0].its.get(), channels_[1].its.get()};
}

// Whether there was a message. The exporter may have been taken over: sizes of its are not
// believed.
bool Feed::receive(Channel& channel) {
  UniqueFd none;
  Head head{};
  message_.resize(sizeof head + kPart);
  const auto got =
      receive_message(channel.its.get(), std::as_writable_bytes(std::span(message_)), none);
  if (!got || got->size < sizeof head) return false;
  std::memcpy(&head, message_.data(), sizeof head);
  auto& [known, bytes] = channel.taken;
  if (head.at == 0) {
    known = head;
    bytes.clear();
  } else if (head.number != known.number || head.at != bytes.size()) {
    return true;  // a former process had its begin
  }
  bytes.append(message_, sizeof head, got->size - sizeof head);
  channel.read = bytes.size() < std::min<std::size_t>(head.size, kBytes) ? bytes.size() : 0;
  return true;
}

std::optional<std::string> Feed::take(Way way) {
  Channel& channel = at(way);
  while (channel.read == channel.taken.bytes.size())
    if (!receive(channel)) return std::nullopt;
  std::string_view rest = std::string_view(channel.taken.bytes).substr(channel.read);
  std::uint64_t size = 0;
  std::memcpy(&size, rest.data(), std::min(sizeof size, rest.size()));
  rest.remove_prefix(std::min(sizeof size, rest.size()));
  std::string item(rest.substr(0, size));
  rest.remove_prefix(item.size());
  channel.read = channel.taken.bytes.size() - rest.size();
  return item;
}

void Feed::begin() {
  std::uint64_t taken = 0;
  for (const Way way : kWays) {
    Head head{};
    const std::uint64_t sent =
        shared_->sent[static_cast<std::size_t>(way)];  // before the socket, which is empty after it
    const bool waits = ::recv(at(way).its.get(), &head, sizeof head, MSG_PEEK) ==
                       static_cast<ssize_t>(sizeof head);
    taken += !waits ? sent : head.number - 1 + (head.at == 0 ? 0 : head.items);
    at(way).taken = {};
    at(way).read = 0;
  }
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
