// IdleConnectionReaper: sees to it that connections which send no request leave threads for those
// that do.
//
// civetweb gives a thread to each connection, and waits there for the request for as long as
// request_timeout. That is right for a few slow clients, and too long for a thousand. So while most
// threads are taken, a connection that has nothing to be answered is cut after `patience`, which is
// enough for all others: while they waited for a thread, the kernel took in what they sent. And
// none is kept for another request.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace ioc_exporter::web {

class IdleConnectionReaper {
 public:
  using Peer = std::pair<std::string, int>;  // address in figures, port
  static constexpr std::chrono::seconds kLongTurn{1};

  // While connections take five eighths of the server's threads, those without a request are given
  // `patience`.
  IdleConnectionReaper(std::size_t threads, std::chrono::milliseconds patience)
      : from_(threads * 5 / 8), most_turns_(threads / 8), patience_(patience) {}
  ~IdleConnectionReaper() { stop(); }
  IdleConnectionReaper(const IdleConnectionReaper&) = delete;
  IdleConnectionReaper& operator=(const IdleConnectionReaper&) = delete;

  // Looks after the connections to these ports, in a thread of its own.
  void start(std::vector<std::uint16_t> ports);
  void stop();

  // A connection has got its thread, and has left it. In any thread, as the next two.
  void arrived();
  void left() { --connections_; }
  bool is_there() const { return connections_ >= from_; }

  // Ends that connection, where it is still there.
  void cut(const Peer& peer) const;

  // While a Turn is there, its client is being answered. Of an address that has more than an eighth
  // of the threads the oldest are cut while the crowd is there, when they take longer than
  // kLongTurn.
  class Turn {
   public:
    Turn(IdleConnectionReaper& reaper, Peer peer);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    IdleConnectionReaper& crowd_;
    Peer peer_;
  };

 private:
  using Clock = std::chrono::steady_clock;

  struct Turns {
    std::size_t count = 0;
    Clock::time_point since{};  // of the first
  };

  void run();
  void cut_idle(Clock::time_point now);
  std::set<Peer> of_the_greedy(Clock::time_point now);

  const std::size_t from_, most_turns_;
  const std::chrono::milliseconds patience_;
  std::vector<std::uint16_t> ports_;
  std::atomic<std::size_t> connections_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;                   // guarded by mutex_
  std::map<Peer, Turns> answered_;          // guarded by mutex_
  std::map<Peer, Clock::time_point> idle_;  // since when; only for the thread
  std::thread thread_;
};

}  // namespace ioc_exporter::web
