#include "records/families/cause_families.h"

#include <array>
#include <string_view>
#include <utility>

#include "exposition/merged_series.h"
#include "records/families/label.h"

namespace ioc_exporter::records {
namespace {

constexpr exposition::Family kCauses{"epics_ioc_processings_total", exposition::FamilyType::counter,
                                     "Processings of the IOC's records by their cause."};
constexpr exposition::Family kRecordCauses{"epics_record_process_cause_total",
                                           exposition::FamilyType::counter,
                                           "Processings of a record by their cause."};
constexpr exposition::Family kTimed{
    "epics_ioc_timed_total", exposition::FamilyType::counter,
    "Processings of the IOC's records whose duration was measured; one of "
    "them may stand for several."};
constexpr exposition::Family kTransitions{"epics_ioc_alarm_transitions_total",
                                          exposition::FamilyType::counter,
                                          "Changes of a record's severity, by the new one."};
constexpr std::array<std::string_view, kSeverities> kSeverityNames{"no_alarm", "minor", "major",
                                                                   "invalid"};

using IocList = std::vector<const IocSample*>;

// "scan_0.1" is the cause scan, of the list with this period; all others have none.
std::pair<std::string_view, std::string_view> cause_and_period(std::string_view label) {
  constexpr std::string_view kScan = "scan_";
  if (!label.starts_with(kScan)) return {label, {}};
  return {kScan.substr(0, kScan.size() - 1), label.substr(kScan.size())};
}

template <class Each>
void for_each_counted(const exposition::Family& family, const IocList& iocs,
                      exposition::Encoder& encoder, Each each) {
  encoder.begin_family(family);
  for (const IocSample* ioc : iocs)
    if (ioc->up && ioc->processing) each(*ioc, *ioc->processing);
}

}  // namespace

void encode_causes(const IocList& iocs, exposition::Encoder& encoder) {
  for_each_counted(kCauses, iocs, encoder, [&](const IocSample& ioc, const ProcessingSample& all) {
    for (const auto& [label, count] : all.causes) {
      const auto [cause, period] = cause_and_period(label);
      encoder.count(encoder.labels({{"ioc", ioc.name}, {"cause", cause}, {"period", period}}),
                    count);
    }
  });
  exposition::SeriesList<std::uint64_t> of_records;
  for (const IocSample* ioc : iocs) {
    if (!ioc->up) continue;
    for (const RecordCauseSample& one : ioc->record_causes) {
      const auto [cause, period] = cause_and_period(one.cause);
      of_records.emplace_back(encoder.labels({{"ioc", ioc->name},
                                              record_label(*ioc, one.record),
                                              {"cause", cause},
                                              {"period", period}}),
                              one.count);
    }
  }
  exposition::encode_counts(kRecordCauses, std::move(of_records), encoder);
  for_each_counted(kTimed, iocs, encoder, [&](const IocSample& ioc, const ProcessingSample& all) {
    encoder.count(encoder.labels({{"ioc", ioc.name}}), all.timed);
  });
  for_each_counted(
      kTransitions, iocs, encoder, [&](const IocSample& ioc, const ProcessingSample& all) {
        for (std::size_t i = 0; i < kSeverities; ++i)
          encoder.count(encoder.labels({{"ioc", ioc.name}, {"severity", kSeverityNames[i]}}),
                        all.transitions[i]);
      });
}

}  // namespace ioc_exporter::records
