#include "web/idle_connection_reaper.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "web/own_sockets.h"

namespace ioc_exporter::web {
namespace {

// The other end, as civetweb writes it; nothing for a socket that has none.
std::optional<IdleConnectionReaper::Peer> peer_of(int fd) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return {};
  std::array<char, NI_MAXHOST> host{};
  if (::getnameinfo(reinterpret_cast<sockaddr*>(&peer), size, host.data(), host.size(), nullptr, 0,
                    NI_NUMERICHOST) != 0)
    return {};
  // The port stands in the same place for IPv6.
  return IdleConnectionReaper::Peer{plain_address(host.data()),
                                    ntohs(reinterpret_cast<sockaddr_in*>(&peer)->sin_port)};
}

// Whether a whole head of a request waits to be read, without taking it; or with TLS a whole
// record.
bool has_request(int fd) {
  std::array<char, 16384> head;  // civetweb takes no longer one
  const ssize_t got = ::recv(fd, head.data(), head.size(), MSG_PEEK | MSG_DONTWAIT);
  if (got <= 0) return false;
  const std::string_view bytes(head.data(), static_cast<std::size_t>(got));
  constexpr std::size_t kRecordHead = 5;  // a type that is no text, a version, a length
  if (bytes.front() >= 20 && bytes.front() <= 23 && bytes.size() >= kRecordHead) {
    const auto byte = [&](std::size_t at) {
      return static_cast<std::size_t>(static_cast<unsigned char>(bytes[at]));
    };
    return bytes.size() >= std::min(head.size(), kRecordHead + (byte(3) << 8) + byte(4));
  }
  return bytes.find("\r\n\r\n") != std::string_view::npos;
}

}  // namespace

IdleConnectionReaper::Turn::Turn(IdleConnectionReaper& reaper, Peer peer)
    : crowd_(reaper), peer_(std::move(peer)) {
  const std::scoped_lock lock(crowd_.mutex_);
  Turns& turns = crowd_.answered_[peer_];
  if (turns.count++ == 0) turns.since = Clock::now();
}

IdleConnectionReaper::Turn::~Turn() {
  const std::scoped_lock lock(crowd_.mutex_);
  const auto turns = crowd_.answered_.find(peer_);
  if (--turns->second.count == 0) crowd_.answered_.erase(turns);
}

void IdleConnectionReaper::start(std::vector<std::uint16_t> ports) {
  ports_ = std::move(ports);
  thread_ = std::thread([this] { run(); });
}

void IdleConnectionReaper::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void IdleConnectionReaper::arrived() {
  if (++connections_ == from_) changed_.notify_all();
}

void IdleConnectionReaper::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (is_there()) {
      lock.unlock();
      cut_idle(Clock::now());
      lock.lock();
      changed_.wait_for(lock, patience_ / 2, [this] { return stopping_; });
    } else {
      idle_.clear();
      // Also without being told: the count may pass the limit just before we wait.
      changed_.wait_for(lock, std::chrono::seconds(1), [this] { return stopping_ || is_there(); });
    }
  }
}

void IdleConnectionReaper::cut(const Peer& peer) const {
  visit_own_sockets(ports_, [&peer](int fd) {
    if (peer_of(fd) != peer) return false;
    ::shutdown(fd, SHUT_RDWR);
    return true;
  });
}

std::set<IdleConnectionReaper::Peer> IdleConnectionReaper::of_the_greedy(Clock::time_point now) {
  std::map<std::string, std::multimap<Clock::time_point, Peer>> by_address;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [peer, turns] : answered_) by_address[peer.first].emplace(turns.since, peer);
  }
  std::set<Peer> greedy;
  for (const auto& [address, turns] : by_address) {
    if (turns.size() <= most_turns_) continue;
    std::size_t left = turns.size() - most_turns_;
    for (auto turn = turns.begin(); left-- > 0 && now - turn->first >= kLongTurn; ++turn)
      greedy.insert(turn->second);
  }
  return greedy;
}

// A connection that is about to be answered may look idle between the reading of its request and
// the beginning of its turn, but not at two looks.
void IdleConnectionReaper::cut_idle(Clock::time_point now) {
  const std::set<Peer> greedy = of_the_greedy(now);
  std::map<Peer, Clock::time_point> idle;
  visit_own_sockets(ports_, [&](int fd) {
    const auto peer = peer_of(fd);
    if (peer && greedy.contains(*peer)) ::shutdown(fd, SHUT_RDWR);
    if (!peer || has_request(fd)) return false;
    {
      const std::scoped_lock lock(mutex_);
      if (answered_.contains(*peer)) return false;
    }
    const auto before = idle_.find(*peer);
    const auto since = before == idle_.end() ? now : before->second;
    idle.emplace(*peer, since);
    if (now - since >= patience_) ::shutdown(fd, SHUT_RDWR);
    return false;
  });
  idle_ = std::move(idle);
}

}  // namespace ioc_exporter::web
