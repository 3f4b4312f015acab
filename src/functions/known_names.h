// KnownNames: labels of calls whose values must be among those that a walk finds, or among the
// IOC's records (`among`). What nothing knows is no name: a struct is laid out otherwise than the
// description says, and the label is empty. What is decided stays so. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "functions/families.h"
#include "functions/walk_watch.h"
#include "iocs/host.h"
#include "iocs/memory/record_names.h"

namespace ioc_exporter::functions {

class KnownNames {
 public:
  // Under the host's mutex.
  void follow(const iocs::Host& host);
  // Empties labels that nothing knows. Takes out samples of which this is not decided yet.
  void apply(std::vector<FunctionSample>& samples, const WalkWatch& walks);
  // Others are described from now on.
  void clear() { decided_.clear(); }
  // Calls with an emptied label.
  std::uint64_t unknown() const { return unknown_; }

 private:
  using Answer = WalkWatch::Answer;
  struct Life {
    iocs::IocId id;
    std::shared_ptr<const Database> database;  // null: not read yet
    std::unique_ptr<iocs::RecordNames> records = {};
  };

  Answer ask(const std::string& ioc, const std::string& among, const std::string& label,
             const std::string& value, const WalkWatch& walks);
  Answer decide(const std::string& ioc, const std::string& among, const std::string& label,
                const std::string& value, const WalkWatch& walks);

  std::map<std::string, Life> lives_;  // by name
  // By IOC, walk, label and value: whether it is a name.
  std::map<std::tuple<std::string, std::string, std::string, std::string>, bool> decided_;
  std::uint64_t unknown_ = 0;
};

}  // namespace ioc_exporter::functions
