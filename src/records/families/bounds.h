// RecordBounds: records' part of Bounds. RecordPlan says how a record is shown.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "exposition/limits.h"
#include "records/families/samples.h"

namespace ioc_exporter::records {

// RecordPlan: what an IOC's records are shown as: themselves, a group, the sum of all others, or
// not at all. Made once for a database, not at each scrape.

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

class RecordBounds {
 public:
  // `by_type`: all records of a type are shown as one, instead of themselves and groups.
  explicit RecordBounds(bool by_type = false) : by_type_(by_type) {}

  void configure(const exposition::BoundsOptions& options);
  // Puts the databases that are to be shown, and the counts that go with them, into the place of
  // the real ones.
  void apply(std::vector<IocSample>& iocs);
  // Records that are summed up now.
  std::size_t limited() const;

 private:
  using SharedName = std::pair<std::string, bool>;  // is it a group?
  struct Sums {
    RecordSample kept;   // of what is no member any more, or was counted before; modulo 2^64
    RecordSample shown;  // at the last scrape
    bool was_shown = false;
  };
  struct Ioc {
    std::int32_t pid = 0;
    double start_time_seconds = 0;
    RecordPlan plan;
    std::map<SharedName, Sums> sums;
    unsigned configured = 0;
    bool there = false;
  };

  std::size_t room_for(const Ioc& ioc) const;
  bool must_plan(const Ioc& ioc, const IocSample& sample) const;
  void plan(Ioc& ioc, const IocSample& sample);
  static void keep_sums(Ioc& ioc, const RecordPlan& before,
                        const std::vector<RecordSample>& records);
  static void show(Ioc& ioc, IocSample& sample);
  static void show_records(Ioc& ioc, std::vector<RecordSample>& records);

  bool by_type_;
  exposition::BoundsOptions options_;
  unsigned configured_ = 1;  // times
  bool room_was_freed_ = false;
  std::size_t own_ = 0;  // of all IOCs
  std::map<std::string, Ioc> iocs_;
};

}  // namespace ioc_exporter::records
