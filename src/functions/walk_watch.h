// WalkWatch: what walks find in the IOCs, read at each scrape. Bounded in time, as a whole and for
// each walk; an IOC that makes a reading wait is left out. In any thread.
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
  // A walk that has never fitted at so many looks does not know the module's version.
  static constexpr unsigned kLooksToFit = 3;

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
  // Reads these IOCs, those first that were not read for longest, and forgets all others.
  void look(const std::vector<Job>& jobs);
  void encode(exposition::Encoder& encoder) const;

  // Whether a walk's label has had that value since the IOC began. Not sure: it could not be read,
  // and may be the next time.
  enum class Answer : std::uint8_t { yes, no, not_sure };
  Answer knows(const iocs::IocId& id, const std::string& walk, const std::string& label,
               const std::string& value) const;
  std::vector<State> states() const;
  // Items, and whole walks, that did not fit, one each time that they were looked at.
  std::uint64_t unfit() const;

 private:
  struct Read {
    WalkPlaces places;
    Walked found;
    std::string problem;  // why it was not read
    unsigned looks = 0;
    bool has_fit = false;  // once
  };
  struct Life {
    std::uint64_t serial = 0;
    std::string ioc;
    std::map<std::uint32_t, Read> walks;
    std::set<std::tuple<std::uint32_t, std::string, std::string>> names;  // walk, label, value
    Clock::time_point tried{}, when{};
  };

  void look_at(const Job& job);
  void keep_names(Life& life, std::uint32_t walk, const Walked& found) const;

  std::shared_ptr<iocs::ProcessReader> reader_;
  std::shared_ptr<const std::vector<Walk>> walks_;
  std::timed_mutex looking_;  // taken before mutex_, which is never held while memory is read
  mutable std::mutex mutex_;  // for what follows
  std::map<iocs::IocId, Life> lives_;
  std::uint64_t unfit_ = 0;
};

}  // namespace ioc_exporter::functions
