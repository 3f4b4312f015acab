// A site's choice of what to show, and how much: plain settings for Bounds.
#pragma once

#include <string>
#include <vector>

#include "base/pattern.h"
#include "exposition/histogram_edges.h"
#include "exposition/limited_series.h"

namespace ioc_exporter::exposition {

// Records whose whole name matches are shown as one, called `group` with \1 ... as captured.
struct RecordGroup {
  Pattern match;
  std::string group;
};

// The defaults leave room for 100,000 records of one IOC, and for each client's puts to thousands
// of PVs; what they bound is a mistake or an attack.
struct BoundsOptions {
  NameFilter records, pvs;  // what they leave out has no series, and is in no sum
  std::vector<RecordGroup> groups;
  EdgeStep edge_step = EdgeStep::by_4;  // of histograms, in the text formats
  SeriesLimit record_limit{200'000, 150'000, SeriesLimit::kNone};
  SeriesLimit put_limit{20'000, 15'000, 5'000};
  SeriesLimit failure_limit{5'000, 4'000, 1'000};
  SeriesLimit duration_limit{10'000, 8'000, SeriesLimit::kNone};
  SeriesLimit pv_limit{20'000, 15'000, SeriesLimit::kNone};
  SeriesLimit client_limit{10'000, 5'000, 500};
  SeriesLimit search_limit{1'000, SeriesLimit::kNone, SeriesLimit::kNone};
  SeriesLimit unexpected_limit{5'000, 4'000, 1'000};
  SeriesLimit beacon_limit{1'000, SeriesLimit::kNone, SeriesLimit::kNone};
};

}  // namespace ioc_exporter::exposition
