// RequestSlots: places for requests that are answered at a time. Scrapes have places of their own,
// which requests for pages cannot take, and one holder has at most half of the places of a kind.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace ioc_exporter::web {

class RequestSlots {
 public:
  enum class Kind { scrape, page };

  // `scrapes`: at a time; half as many pages beside them.
  explicit RequestSlots(std::size_t scrapes);

  // Holds a place while it exists. In any thread, as all of this.
  class Slot {
   public:
    Slot(RequestSlots& slots, Kind kind, const std::string& holder);
    ~Slot();
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

    bool has_place() const { return has_place_; }

   private:
    RequestSlots& slots_;
    const Kind kind_;
    const std::string holder_;
    bool has_place_;
  };

 private:
  struct Places {
    std::size_t most = 1, most_of_one = 1;
    std::size_t taken = 0;
    std::map<std::string, std::size_t> holders = {};
  };
  Places& places(Kind kind) { return kind == Kind::scrape ? scrapes_ : pages_; }

  std::mutex mutex_;
  Places scrapes_, pages_;
};

// PendingAnswers: bounded memory for answers that clients have not taken yet. When it is full, the
// largest holder loses an answer, not the next client.
class PendingAnswers {
 public:
  using Clock = std::chrono::steady_clock;
  using Peer = std::pair<std::string, int>;  // address in figures, port
  // Ends that connection. Called in the next client's thread, with no lock held.
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
  // Exists while a client takes an answer. In any thread.
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
  // The oldest answer of the largest holder, if that one has more than `holder` would have.
  std::list<Entry>::iterator who_gives_way(const std::string& holder, std::size_t bytes,
                                           Clock::time_point now);

  const std::size_t most_;
  const Cut cut_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // the oldest first
  std::size_t bytes_ = 0;
};

}  // namespace ioc_exporter::web
