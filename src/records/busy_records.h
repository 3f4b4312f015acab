// BusyRecords: the records that take most time now, for the page at "/": what their counts have
// grown by from one reading to the next. 16 bytes a record, once the page was asked for.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "exposition/status_page.h"
#include "records/families/samples.h"

namespace ioc_exporter::records {

class BusyRecords {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kShown = 20;

  // Since the reading before, which is Rates::kShortest old at least: within that time the last
  // table again. Without rows where there is none. In any thread.
  exposition::StatusTable table(const std::vector<IocSample>& iocs, Clock::time_point now);

 private:
  struct Count {
    std::uint64_t processed = 0, self_ns = 0;
  };
  struct Counts {
    std::shared_ptr<const Database> database;  // in whose order they are
    std::vector<Count> records;
  };
  using Reading = std::map<std::string, Counts>;  // by IOC

  static Reading reading_of(const std::vector<IocSample>& iocs);

  std::mutex mutex_;
  Reading before_;
  Clock::time_point read_{};
  exposition::StatusTable table_;
};

}  // namespace ioc_exporter::records
