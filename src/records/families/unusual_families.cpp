#include "records/families/unusual_families.h"

#include <utility>

#include "base/time_text.h"

namespace ioc_exporter::records {
namespace {

constexpr exposition::Family kStopped{
    "epics_ioc_records_stopped", exposition::FamilyType::gauge,
    "Records of the IOC that have not processed for longer than they ever rested before."};
constexpr exposition::Family kSurging{
    "epics_ioc_records_surging", exposition::FamilyType::gauge,
    "Records of the IOC that process over 10 times as often as ever before, and 20 times a second "
    "at least."};
constexpr exposition::Family kSilence{
    "epics_record_stopped_seconds", exposition::FamilyType::gauge,
    "Time since the record processed last: of those that have stopped, the ten of each IOC that "
    "processed most."};
constexpr exposition::Family kRate{
    "epics_record_surge_rate", exposition::FamilyType::gauge,
    "Processings of the record a second: of those that surge, the ten of each IOC that are "
    "furthest above their habit."};

constexpr exposition::Family kObserved{
    "epics_ioc_habits_observed_seconds", exposition::FamilyType::gauge,
    "Time over which the habits of the IOC's records were learned. Before 86400 nothing is "
    "unusual."};

using Records = std::vector<UnusualRecord> UnusualSample::*;

void encode_worst(const exposition::Family& family, const std::vector<const IocSample*>& iocs,
                  Records records, exposition::Encoder& encoder) {
  encoder.begin_family(family);
  for (const IocSample* ioc : iocs)
    if (ioc->up && ioc->unusual)
      for (const UnusualRecord& record : *ioc->unusual.*records)
        encoder.number(encoder.labels({{"ioc", ioc->name}, {"record", record.name}}), record.value);
}

}  // namespace

void encode_unusual(const std::vector<const IocSample*>& iocs, exposition::Encoder& encoder) {
  for (const auto& [family, count] : {std::pair(kStopped, &UnusualSample::stopped),
                                      std::pair(kSurging, &UnusualSample::surging)}) {
    encoder.begin_family(family);
    for (const IocSample* ioc : iocs)
      if (ioc->up && ioc->unusual)
        encoder.count(encoder.labels({{"ioc", ioc->name}}), *ioc->unusual.*count);
  }
  encode_worst(kSilence, iocs, &UnusualSample::worst_stopped, encoder);
  encode_worst(kRate, iocs, &UnusualSample::worst_surging, encoder);
  encoder.begin_family(kObserved);
  for (const IocSample* ioc : iocs)
    if (ioc->up && ioc->unusual)
      encoder.number(encoder.labels({{"ioc", ioc->name}}), ioc->unusual->observed_seconds);
}

exposition::StatusTable unusual_table(const std::vector<IocSample>& iocs) {
  exposition::StatusTable table;
  table.title = "Records that are unusual";
  table.note =
      "They have stopped, or process far more often than ever before; the ten worst of each IOC.";
  table.columns = {{"IOC", false}, {"record", false}, {"what", false}, {"how", true}};
  std::uint64_t all = 0;
  for (const IocSample& ioc : iocs) {
    if (!ioc.up || !ioc.unusual) continue;
    all += ioc.unusual->stopped + ioc.unusual->surging;
    const auto add = [&](const UnusualRecord& record, const char* what, std::string how) {
      if (table.rows.size() < kUnusualShown)
        table.rows.push_back({ioc.name, record.name, what, std::move(how)});
    };
    for (const UnusualRecord& record : ioc.unusual->worst_surging)
      add(record, "surges", exposition::rate_text(record.value) + " a second");
    for (const UnusualRecord& record : ioc.unusual->worst_stopped)
      add(record, "has stopped", span_text(record.value) + " ago");
  }
  if (all > table.rows.size())
    table.rest = "And " + std::to_string(all - table.rows.size()) +
                 " more: epics_ioc_records_stopped and epics_ioc_records_surging count them.";
  return table;
}

}  // namespace ioc_exporter::records
