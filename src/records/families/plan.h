// RecordPlan: what an IOC's records are shown as: themselves, a group, the sum of the rest, or not
// at all. Made once for a database, not at each scrape.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_set>
#include <vector>

#include "exposition/limits.h"
#include "records/families/samples.h"

namespace ioc_exporter::records {

struct RecordPlan {
  static constexpr std::uint32_t kLeftOut = UINT32_MAX - 1;

  std::shared_ptr<const Database> original;
  // Null: all records are shown as themselves. Else first those that are, in their order, then
  // `shared` ones that stand for several, with address 0: groups, "(other)".
  std::shared_ptr<const Database> shown;
  std::vector<std::uint32_t> places;  // of each record of the original in `shown`, or kLeftOut
  std::uint32_t first_shared = 0;     // place in `shown`
  std::size_t own = 0;                // series: records and groups that are shown by their names
  std::size_t limited = 0;            // records without a place of their own or of their group

  // The place that a sample's record has now; kUnknown stays, kLeftOut: it is not shown.
  std::uint32_t place_of(std::uint32_t record) const {
    if (record >= places.size()) return RecordSample::kUnknown;
    return places[record];
  }
};

// `room`: series that the IOC may have in all. Records and groups that `before` (may be null) shows
// by their names keep that, whatever the room.
RecordPlan make_record_plan(std::shared_ptr<const Database> database,
                            const exposition::BoundsOptions& options, std::size_t room,
                            const RecordPlan* before);

}  // namespace ioc_exporter::records
