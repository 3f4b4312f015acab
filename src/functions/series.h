// FunctionSeries: numbers of described functions and of their series in the maps of bpf/functions,
// and what was counted there.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/log.h"
#include "functions/families.h"
#include "functions/finder.h"
#include "functions/functions_object.h"

namespace ioc_exporter::functions {

using IocNames = std::map<std::uint32_t, std::string>;  // by number

class FunctionSeries {
 public:
  // `object` must outlive it.
  FunctionSeries(const FunctionsObject& object, std::shared_ptr<const Descriptions> descriptions);

  struct Numbers {
    std::uint32_t function = 0;  // in the map `functions`
    std::uint32_t series = 0;    // for calls without labels
    bool operator==(const Numbers&) const = default;
  };
  // Of a function in an IOC: the same until the IOC is forgotten. Nothing: there is no room for it.
  std::optional<Numbers> of(std::uint32_t ioc, const DescribedFunction& found);
  // The same, if they are known.
  std::optional<Numbers> known(std::uint32_t ioc, const DescribedFunction& found) const;
  // Null: no function has this number.
  const Description* description(std::uint32_t function) const;
  bool has_ends(std::uint32_t function) const { return functions_[function].ends; }
  // Counts of other IOCs are forgotten.
  void keep(const IocNames& names);

  // Of IOCs that have names, but for these IOCs' functions.
  using Suspended = std::set<std::pair<std::uint32_t, std::uint32_t>>;
  std::vector<FunctionSample> samples(const IocNames& names, const Suspended& suspended) const;
  std::uint64_t used() const;
  // Calls with a label whose text does not print, which is shown empty. Never falls.
  std::uint64_t unprinted() const { return unprinted_; }

 private:
  // A row of the map `functions`.
  struct Function {
    std::uint32_t description = 0;
    std::vector<std::string> texts = {};  // of labels that the symbol has; "" at others
    bool ends = false;
    std::uint32_t iocs = 0;  // that have it; 0: the row is free
    auto key() const { return std::tie(description, texts, ends); }
    bool operator<(const Function& other) const { return key() < other.key(); }
  };
  Function described(const DescribedFunction& found) const;
  std::optional<std::uint32_t> index_of(const Function& function);
  iocx_function compiled(const Function& function) const;
  void forget(std::uint32_t ioc, std::uint32_t function);
  void free_series(std::uint32_t series);
  bool read_labels(const iocx_function_series& series, bool is_rest, FunctionSample& sample) const;

  const FunctionsObject& object_;
  std::shared_ptr<const Descriptions> descriptions_;
  std::map<Function, std::uint32_t> indices_;
  std::vector<Function> functions_;  // by index
  std::vector<std::uint32_t> free_own_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> others_;  // by IOC and function
  mutable std::uint64_t unprinted_ = 0;
  mutable std::unordered_map<std::uint32_t, std::uint64_t> unprinted_of_;  // by series
  TroubleLog trouble_;
};

}  // namespace ioc_exporter::functions
