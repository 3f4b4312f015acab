// ExemplarBook: for single series, the latest of what they counted that there is more to say of:
// the trace of one call, the number of one put. Collectors note it, encoders write it where their
// format has exemplars, whatever collector the series is of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "exposition/encoder.h"

namespace ioc_exporter::exposition {

class ExemplarBook {
 public:
  // Of each family and IOC; the one that was noted first goes first.
  static constexpr std::size_t kMostOfIoc = 1024;

  struct Note {
    std::string_view family;    // its name, of static storage
    std::vector<Label> series;  // all of its labels, in their order; the first one is the IOC
    std::vector<Label> labels;  // of the exemplar
    double value = 0;           // growth of the counter, or observed value of the histogram
    double time_seconds = 0;    // time of day
  };

  // In any thread; replaces the earlier one of the series.
  void note(const Note& note);
  // Forgets those of other IOCs.
  void keep(const std::unordered_set<std::string>& iocs);
  // In the form of `encoder`, which is given it for one scrape.
  ExemplarTable encoded(const Encoder& encoder) const;

 private:
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  struct Kept {
    Pairs labels;
    double value = 0, time_seconds = 0;
    std::uint64_t number = 0;  // in the order that they were noted
  };
  struct Place {
    std::string_view family;
    std::string ioc;
    auto operator<=>(const Place&) const = default;
  };

  mutable std::mutex mutex_;
  std::map<Place, std::map<Pairs, Kept>> kept_;
  std::uint64_t noted_ = 0;
};

}  // namespace ioc_exporter::exposition
