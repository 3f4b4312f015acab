// Bursts: many puts of one client to one PV become few lines: the first at once, and when the burst
// time ends one for those that came after it, with their least and greatest value, how many they
// were, and the last of them. What differs in client, user, operation, verdict or result is not put
// together, nor are texts that differ, nor puts to groups.
//
// Pure, not thread-safe: it is given the time.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "putlog/entry.h"

namespace ioc_exporter::putlog {

class Bursts {
 public:
  using Clock = std::chrono::steady_clock;

  // `window`: the burst time; 0 = each put is reported. `most`: bursts at a time, `most_bytes`:
  // what they take in memory; of more the one that began first ends early.
  explicit Bursts(std::chrono::milliseconds window, std::size_t most = 4096,
                  std::size_t most_bytes = 16u << 20)
      : window_(window), most_(most), most_bytes_(most_bytes) {}

  // Appends entries that are due to `out`.
  void take(SharedEvent event, Clock::time_point now, std::vector<Entry>& out);
  void end_due(Clock::time_point now, std::vector<Entry>& out);
  void end_all(std::vector<Entry>& out);

  std::optional<Clock::time_point> next_due() const;
  // Puts that are here and have not been reported.
  std::uint64_t held() const { return held_; }

 private:
  struct Open {
    std::string key;
    Clock::time_point due{};
    Entry entry;  // puts = 0: none came after the first
    std::size_t bytes = 0;
  };
  using Place = std::list<Open>::iterator;

  void weigh(Open& open);
  void add(Entry& entry, SharedEvent event);
  void emit(Place open, std::vector<Entry>& out);
  void end(Place open, std::vector<Entry>& out);

  const std::chrono::milliseconds window_;
  const std::size_t most_, most_bytes_;
  std::list<Open> open_;  // by when they are due
  std::unordered_map<std::string, Place> by_key_;
  std::uint64_t held_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace ioc_exporter::putlog
