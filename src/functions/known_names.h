// KnownNames: labels of calls whose values must be among those that a walk finds, or among the
// IOC's records (`among`). What nothing knows is no name: a struct is laid out otherwise than the
// description says, and the label is empty. That is asked at each scrape, and what was counted with
// an empty label until it became a name stays there. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "functions/families.h"
#include "functions/walk_watch.h"
#include "iocs/host_view.h"
#include "iocs/memory/record_names.h"

namespace ioc_exporter::functions {

class KnownNames {
 public:
  struct Life {
    iocs::IocId id;
    std::shared_ptr<const Database> database = {};  // null: not read yet
    std::unique_ptr<iocs::RecordNames> records = {};
  };
  void follow(const iocs::HostView& host);
  // `names`: of all IOCs that are not forgotten.
  void follow(std::map<std::string, Life> lives, const std::unordered_set<std::string>& names);
  // Empties labels that nothing knows. Takes out samples of which this is not decided yet.
  void apply(std::vector<FunctionSample>& samples, const WalkWatch& walks);
  // Others are described from now on.
  void clear() { shown_.clear(); }
  // Calls that were shown with an emptied label. Never falls.
  std::uint64_t unknown() const { return unknown_; }

 private:
  using Answer = WalkWatch::Answer;
  using Labels = std::vector<std::pair<std::string, std::string>>;

  Answer ask(const std::string& ioc, const std::string& among, const std::string& label,
             const std::string& value, const WalkWatch& walks);
  void show(FunctionSample sample, Labels labels, bool is_sure, std::vector<FunctionSample>& to);

  std::map<std::string, Life> lives_;  // by name
  // A series of the programs: its counts, the labels that it is shown with now, and what was
  // counted while it was shown with each.
  struct Shown {
    FunctionSample last;
    Labels now;
    std::map<Labels, FunctionSample> counts;
  };
  std::map<std::tuple<std::string, std::string, Labels>, Shown> shown_;  // by IOC and function
  std::uint64_t unknown_ = 0;
};

}  // namespace ioc_exporter::functions
