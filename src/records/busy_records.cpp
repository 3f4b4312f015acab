#include "records/busy_records.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/rates.h"

namespace ioc_exporter::records {
namespace {

struct BusyRecord {
  double self = 0, processed = 0;  // seconds and processings, a second
  const std::string* ioc = nullptr;
  const std::string* record = nullptr;
  bool is_timed = false;

  auto rank() const { return std::pair(self, processed); }
};

std::string fixed(double number, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, number);
  return text;
}

// Each call of the IOC was timed.
bool is_timed(const IocSample& ioc) {
  return ioc.overhead && ioc.overhead->timed_share >= 1;
}

}  // namespace

BusyRecords::Reading BusyRecords::reading_of(const std::vector<IocSample>& iocs) {
  Reading reading;
  for (const IocSample& ioc : iocs) {
    if (!ioc.up || !ioc.database || ioc.no_record_counts) continue;
    Counts& counts = reading[ioc.name];
    counts.database = ioc.database;
    counts.records.resize(ioc.database->records.size());
    for (const RecordSample& sample : ioc.records)
      if (sample.record < counts.records.size()) {
        counts.records[sample.record].processed += sample.processed;
        counts.records[sample.record].self_ns += sample.self_ns;
      }
  }
  return reading;
}

exposition::StatusTable BusyRecords::table(const std::vector<IocSample>& iocs,
                                           Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  if (now - read_ < Rates::kShortest) return table_;
  const double seconds = std::chrono::duration<double>(now - read_).count();
  if (now - read_ > Rates::kLongest) before_.clear();
  Reading reading = reading_of(iocs);
  std::vector<BusyRecord> busy;
  for (const IocSample& ioc : iocs) {
    const auto counts = reading.find(ioc.name), before = before_.find(ioc.name);
    if (counts == reading.end() || before == before_.end() ||
        before->second.database != counts->second.database)
      continue;
    for (std::size_t i = 0; i < counts->second.records.size(); ++i) {
      const Count &is = counts->second.records[i], &was = before->second.records[i];
      if (is.processed <= was.processed) continue;
      const bool timed = is_timed(ioc) && is.self_ns > was.self_ns;
      busy.push_back({timed ? static_cast<double>(is.self_ns - was.self_ns) / 1e9 / seconds : 0,
                      static_cast<double>(is.processed - was.processed) / seconds, &ioc.name,
                      &ioc.database->records[i].name, timed});
    }
  }
  table_ = {};
  table_.title = "Busiest records";
  table_.note =
      "Own time, without the records that a record processes in turn: share of a core, and time of "
      "a processing.";
  table_.columns = {{"IOC"}, {"record"}, {"self", true}, {"processed/s", true}, {"each", true}};
  const std::size_t shown = std::min(busy.size(), kShown);
  std::ranges::partial_sort(busy, busy.begin() + static_cast<std::ptrdiff_t>(shown),
                            std::ranges::greater(), &BusyRecord::rank);
  for (std::size_t i = 0; i < shown; ++i) {
    const BusyRecord& one = busy[i];
    table_.rows.push_back(
        {*one.ioc, *one.record, one.is_timed ? fixed(one.self * 100, 2) + " %" : "not timed",
         exposition::rate_text(one.processed),
         one.is_timed ? fixed(1e6 * one.self / one.processed, 1) + " µs" : "not timed"});
  }
  if (busy.size() > shown)
    table_.more = "And " + std::to_string(busy.size() - shown) + " more that were processed.";
  before_ = std::move(reading);
  read_ = now;
  return table_;
}

}  // namespace ioc_exporter::records
