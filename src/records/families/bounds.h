// RecordBounds: records' part of Bounds. See record_plan.h for what becomes of a record.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "records/families/plan.h"

namespace ioc_exporter::records {

class RecordBounds {
 public:
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

  exposition::BoundsOptions options_;
  unsigned configured_ = 1;  // times
  bool room_was_freed_ = false;
  std::size_t own_ = 0;  // of all IOCs
  std::map<std::string, Ioc> iocs_;
};

}  // namespace ioc_exporter::records
