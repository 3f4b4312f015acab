// A site's choice of things with series of their own, and its limits.
#pragma once

#include <string>
#include <vector>

#include "base/pattern.h"
#include "base/result.h"
#include "exposition/histogram_edges.h"
#include "exposition/limited_series.h"

namespace ioc_exporter {
class Reader;
}

namespace ioc_exporter::exposition {

// The defaults leave room for 100,000 records of one IOC, and for each client's puts to thousands
// of PVs; only mistakes and attacks reach them. A thing may have a series in several families.
struct SeriesLimits {
  SeriesLimit records{200'000, 150'000, SeriesLimit::kNone};
  SeriesLimit puts{20'000, 15'000, 5'000};
  SeriesLimit put_failures{5'000, 4'000, 1'000};
  SeriesLimit put_durations{10'000, 8'000, SeriesLimit::kNone};
  SeriesLimit pvs{20'000, 15'000, SeriesLimit::kNone};
  SeriesLimit clients{10'000, 5'000, 500};
  SeriesLimit searches{200, SeriesLimit::kNone, SeriesLimit::kNone};
  SeriesLimit beacons{200, SeriesLimit::kNone, SeriesLimit::kNone};
  SeriesLimit unexpected_puts{5'000, 4'000, 1'000};
};

// Keys of `limits`, in the order of the documents. A bound that is kNone by default cannot be set.
struct LimitKind {
  const char* name;
  SeriesLimit SeriesLimits::*limit;
};
inline constexpr LimitKind kLimitKinds[] = {{"records", &SeriesLimits::records},
                                            {"puts", &SeriesLimits::puts},
                                            {"put_failures", &SeriesLimits::put_failures},
                                            {"put_durations", &SeriesLimits::put_durations},
                                            {"pvs", &SeriesLimits::pvs},
                                            {"clients", &SeriesLimits::clients},
                                            {"searches", &SeriesLimits::searches},
                                            {"beacons", &SeriesLimits::beacons},
                                            {"unexpected_puts", &SeriesLimits::unexpected_puts}};

// "puts=5000" or "puts.per_client=100", as --limit has it, into `limits`.
Result<void> set_limit(const std::string& text, SeriesLimits& limits);

// The section `limits` of the file.
void read_limits(Reader& section, SeriesLimits& limits);

// Records whose whole name matches are shown as one, called `group` with \1 ... as captured.
struct RecordGroup {
  Pattern match;
  std::string group;
};

// The detail of records and PVs.
enum class SeriesSet {
  all,
  site,  // counts by record and PV; durations by record type and IOC; nothing to join on
};

struct BoundsOptions {
  SeriesSet set = SeriesSet::all;
  NameFilter records, pvs;  // excluded ones have no series and are in no sum
  std::vector<RecordGroup> groups;
  EdgeStep edge_step = kUsualStep;  // of histograms, in the text formats
  SeriesLimits limits;
};

}  // namespace ioc_exporter::exposition
