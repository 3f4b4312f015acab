// Attachments: uprobes of described functions, each for all processes that map the file or for one.
//
// Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/retry.h"
#include "functions/bounded_log.h"
#include "functions/finder.h"
#include "functions/functions_object.h"
#include "iocs/ioc_id.h"
#include "kernel/uprobe.h"

namespace ioc_exporter::functions {

// A function of a file.
struct Place {
  elf::FileId file;
  std::uint64_t offset = 0;
  auto operator<=>(const Place&) const = default;
};

struct WantedPlace {
  std::shared_ptr<const DescribedFile> file;
  std::string name;  // of its description, for messages
  std::shared_ptr<const elf::EndingFunction> ending = {};
  bool with_result = false;
  std::set<iocs::IocId> processes = {};  // or Attachments::kAll
};

class Attachments {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr iocs::IocId kAll{kernel::kAllProcesses, 0};
  // An IOC with many functions must not stop the loop.
  static constexpr std::chrono::milliseconds kPatience{500};
  // One that took longer is of a file that is mapped very often: its other functions wait.
  static constexpr std::chrono::milliseconds kSlow{200};

  // Both must outlive it.
  Attachments(const FunctionsObject& object, BoundedLog& lines) : object_(object), lines_(lines) {}

  using Wanted = std::map<Place, WantedPlace>;
  // Detaches all others.
  void keep(const Wanted& wanted);
  // False: the time is over, and some were not tried.
  bool attach(const Wanted& wanted, Clock::time_point now);
  bool has(const Place& place, const iocs::IocId& process) const {
    return attached_.contains({place, process}) || attached_.contains({place, kAll});
  }
  // It is attached for that process, and keep() leaves it so.
  bool stays(const Wanted& wanted, const Place& place, const iocs::IocId& process) const;
  // Why it is not attached; "": it is, or was not tried.
  std::string problem(const Place& place, const iocs::IocId& process) const;
  // One that failed is to be tried again.
  bool is_due(Clock::time_point now) const;
  std::uint64_t count() const;

 private:
  using Key = std::pair<Place, iocs::IocId>;
  struct Attached {
    elf::FunctionProbe probe;
    const elf::EndingFunction* ending = nullptr;
  };
  bool stays(const Wanted& wanted, const Key& key) const;
  void put_off(const Wanted& wanted, const elf::FileId& file, Clock::time_point now);

  const FunctionsObject& object_;
  BoundedLog& lines_;
  std::map<Key, Attached> attached_;
  std::map<Key, std::pair<Retry, std::string>> failed_;  // and why
};

}  // namespace ioc_exporter::functions
