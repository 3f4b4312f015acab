// PendingAnswers: what was made for clients that have not taken it yet, and who gives way when that
// is too much: the one who holds most, not the one who comes.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <utility>

namespace ioc_exporter::web {

class PendingAnswers {
 public:
  using Clock = std::chrono::steady_clock;
  using Peer = std::pair<std::string, int>;  // address in figures, port
  // Ends that connection. Called by the next client, with no lock held.
  using Cut = std::function<void(const Peer&)>;

  // `most`: bytes. An answer that is the only one may be larger.
  PendingAnswers(std::size_t most, Cut cut) : most_(most), cut_(std::move(cut)) {}

 private:
  struct Entry {
    std::string holder;
    Peer peer;
    std::size_t bytes = 0;
    Clock::time_point since{};
    bool given_up = false;  // its bytes are no longer counted
  };

 public:
  // An answer, while its client takes it. In any thread.
  class Answer {
   public:
    Answer(PendingAnswers& all, const std::string& holder, Peer peer, std::size_t bytes);
    ~Answer();
    Answer(const Answer&) = delete;
    Answer& operator=(const Answer&) = delete;

    bool has_room() const { return has_room_; }

   private:
    PendingAnswers& all_;
    std::list<Entry>::iterator entry_;
    bool has_room_ = false;
  };

 private:
  // The oldest of the answers of him who holds most, if that is more than `holder` would have.
  std::list<Entry>::iterator who_gives_way(const std::string& holder, std::size_t bytes,
                                           Clock::time_point now);

  const std::size_t most_;
  const Cut cut_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // the oldest first
  std::size_t bytes_ = 0;
};

}  // namespace ioc_exporter::web
