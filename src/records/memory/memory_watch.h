// MemoryWatch: what the IOCs' own variables say at each scrape: scan lists, queues, suspended
// threads, and the states of all records.
//
// Bounded in time: a call of read() takes about as long as its budget, however many records there
// are. What it did not come to is as it was at the last reading, and the samples say when that was.
// When an IOC makes one call wait (its memory is being swapped in), the others do not wait for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "iocs/ioc.h"
#include "iocs/memory/database_reader.h"
#include "iocs/memory/memory.h"
#include "iocs/memory/process_reader.h"
#include "iocs/samples.h"
#include "records/families/samples.h"
#include "records/memory/ca_links.h"
#include "records/memory/record_states.h"

namespace ioc_exporter::records {

// The periodic scan lists of a running IOC, from its memory. Layout: iocs/memory/base_layout.h.
// Nothing that is read is trusted.

// From the variables nPeriodic and papPeriodic; sorted by period, each period once. Empty before
// iocInit. An error when there are no such symbols, or what they lead to makes no sense.
Result<std::vector<ScanListSample>> read_scan_lists(iocs::Memory& memory,
                                                    const iocs::VariablePlaces& variables);

class MemoryWatch {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kBudget{100};

  // An IOC to read, whose database is final.
  struct Job {
    iocs::IocId id;
    std::uint64_t serial = 0;  // iocs::LiveIoc::serial: counts of another life are not this one's
    iocs::VariablePlaces variables;
    std::shared_ptr<const Database> database;
    iocs::FieldOffsets offsets;
    std::string base_version;
    bool is_held = false;  // stopped or traced: not to be read now
  };

  // `stuck_after`: how long a record may be active.
  MemoryWatch(std::shared_ptr<iocs::ProcessReader> reader, std::chrono::milliseconds stuck_after,
              std::chrono::milliseconds budget = kBudget);

  // Reads these IOCs, those first that were not read for longest, and forgets all others.
  // Of one that is held, all stays as it was.
  void read(const std::vector<Job>& jobs);
  // Adds what is known to the samples of running IOCs, which have their records' counts already.
  void add_to(std::vector<IocSample>& iocs);

 private:
  struct Watched {
    Watched(RecordStates record_states, CaLinks ca_links)
        : states(std::move(record_states)), links(std::move(ca_links)) {}

    iocs::IocId id;
    std::uint64_t serial = 0;
    RecordStates states;
    CaLinks links;
    IocMemorySample sample;  // but for the records and links
    IocMemorySample before;  // its counts when this life began
    std::string problem;     // of the states
    std::string no_links;    // why
    Clock::time_point tried{};
  };
  struct Published {
    iocs::IocId id;
    std::shared_ptr<const Database> database;
    std::shared_ptr<const IocMemorySample> sample;
  };

  void forget_others(const std::vector<Job>& jobs);
  Watched& watched(const Job& job);
  void read_one(const Job& job, Watched& watched, Clock::time_point deadline);
  void publish(const Watched& watched);
  void take_counts(const IocSample& ioc);

  std::shared_ptr<iocs::ProcessReader> reader_;
  std::chrono::milliseconds stuck_after_;
  std::chrono::milliseconds budget_;
  std::timed_mutex reading_;                 // for watched_, and taken before published_mutex_
  std::map<std::int32_t, Watched> watched_;  // by pid
  std::mutex published_mutex_;
  std::map<std::int32_t, Published> published_;  // by pid
};

}  // namespace ioc_exporter::records
