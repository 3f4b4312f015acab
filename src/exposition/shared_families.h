// SharedFamilies: families that more than one collector feeds, as puts by Channel Access and by PV
// Access. Each adds its series; once all have, every family is encoded once.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "exposition/encoder.h"
#include "exposition/merged_series.h"

namespace ioc_exporter::exposition {

// A count with what some formats tell of it.
struct CountedSeries {
  std::uint64_t count = 0;
  double created_seconds = 0;  // as in CounterFacts
  std::optional<KeptExemplar> exemplar = {};
};

class SharedFamilies {
 public:
  // Of series with the same labels: their sum, with the latest exemplar.
  void add(const Family& family, SeriesList<CountedSeries> series);
  // Of series with the same labels: the largest.
  void add(const Family& family, SeriesList<double> series);

  // In the order in which they were added first, each sorted by labels; afterwards there are none.
  void encode(Encoder& encoder);

 private:
  struct Kept {
    Family family;
    SeriesList<CountedSeries> counts = {};
    SeriesList<double> numbers = {};
  };
  Kept& kept(const Family& family);

  std::vector<Kept> families_;
};

}  // namespace ioc_exporter::exposition
