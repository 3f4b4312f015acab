// WalkWatch: what walks find in the IOCs, read at each scrape. Bounded in time, as a whole and
// for each walk; an IOC that makes a reading wait is left out. In any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "exposition/encoder.h"
#include "functions/walk.h"
#include "iocs/ioc_id.h"
#include "iocs/memory/process_reader.h"

namespace ioc_exporter::functions {

// Where the variables of a walk are in an IOC.
struct WalkPlaces {
  std::string file;
  std::map<std::string, std::uint64_t> variables;  // addresses, by name
  std::string problem;                             // why one is missing; "" = none
};

class WalkWatch {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kBudget{100};
  static constexpr std::chrono::seconds kOldest{60};  // what is shown of an IOC that had to wait
  static constexpr std::size_t kMostNames = 8192;     // of an IOC
  // A walk that has never fitted at so many readings does not know the module's version.
  static constexpr unsigned kReadingsToFit = 3;

  struct Job {
    iocs::IocId id;
    std::uint64_t serial = 0;  // of its life
    std::string ioc;           // its name
    bool left_alone = false;   // its memory is not to be read now: all stays as it was
  };
  struct State {
    std::string walk, ioc, file, state;
  };

  WalkWatch(std::shared_ptr<iocs::ProcessReader> reader,
            std::shared_ptr<const std::vector<Walk>> walks)
      : reader_(std::move(reader)), walks_(std::move(walks)) {}

  // By index of the walk: those whose file the IOC maps.
  void take(const iocs::IocId& id, std::uint64_t serial,
            std::map<std::uint32_t, WalkPlaces> places);
  // Reads these IOCs' walks and forgets all others: first those that were not read for longest. One
  // that does not fit into the time that is left is the first of the next reading.
  void read(const std::vector<Job>& jobs);
  void encode(exposition::Encoder& encoder) const;

  // Whether a walk's label has had that value since the IOC began. Not sure: it was not read at the
  // latest reading, or could not be, and may be the next time.
  enum class Answer : std::uint8_t { yes, no, not_sure };
  Answer knows(const iocs::IocId& id, const std::string& walk, const std::string& label,
               const std::string& value) const;
  std::vector<State> states() const;
  // Items, and whole walks, that did not fit: of each walk of an IOC the most at one reading.
  std::uint64_t unfit() const;

 private:
  struct Read {
    WalkPlaces places;
    Walked found;
    std::string problem;  // why it was not read
    unsigned readings = 0;
    bool has_fit = false;               // once
    bool is_shown = true;               // of walks of one name, the one that finds most
    Clock::time_point tried{}, when{};  // the latest reading, and that of what is shown
  };
  struct Life {
    std::uint64_t serial = 0;
    std::string ioc;
    std::map<std::uint32_t, Read> walks;
    std::map<std::string, std::uint64_t> unfit;                           // by name, as counted
    std::set<std::tuple<std::uint32_t, std::string, std::string>> names;  // walk, label, value
  };
  struct Turn {
    Clock::time_point tried;
    const Job* job = nullptr;
    std::vector<std::uint32_t> walks;  // of one name
  };
  using MemoryOrNot = Result<std::unique_ptr<iocs::Memory>>;

  std::vector<Turn> turns_of(const std::vector<Job>& jobs, Clock::time_point start);
  bool read_turn(const Turn& turn, const MemoryOrNot& memory, Clock::time_point deadline,
                 bool is_last);
  static std::uint64_t choose(std::map<std::uint32_t, Read>& reads);
  std::map<std::uint32_t, Read>* walks_of(const Job& job);  // under mutex_
  void keep_names(Life& life, std::uint32_t walk, const Walked& found) const;

  std::shared_ptr<iocs::ProcessReader> reader_;
  std::shared_ptr<const std::vector<Walk>> walks_;
  std::timed_mutex reading_;  // taken before mutex_, which is never held while memory is read
  mutable std::mutex mutex_;  // for what follows
  std::map<iocs::IocId, Life> lives_;
  Clock::time_point began_{};  // when the latest reading began
  std::uint64_t unfit_ = 0;
};

}  // namespace ioc_exporter::functions
