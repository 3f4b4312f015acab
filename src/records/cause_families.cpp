#include "records/cause_families.h"

#include <array>
#include <string_view>

#include "exposition/merged_series.h"
#include "records/label.h"

namespace ioc_exporter::records {
namespace {

constexpr exposition::Family kCauses{"epics_ioc_process_total", exposition::FamilyType::counter,
                                     "Processings of the IOC's records by their cause."};
constexpr exposition::Family kRecordCauses{"epics_record_process_cause_total",
                                           exposition::FamilyType::counter,
                                           "Processings of a record by their cause."};
constexpr exposition::Family kTimed{
    "epics_record_process_timed_total", exposition::FamilyType::counter,
    "Processings of the IOC's records whose duration was measured; one of "
    "them may stand for several."};
constexpr exposition::Family kTransitions{"epics_ioc_alarm_transitions_total",
                                          exposition::FamilyType::counter,
                                          "Changes of a record's severity, by the new one."};
constexpr std::array<std::string_view, kSeverities> kSeverityNames{"no_alarm", "minor", "major",
                                                                   "invalid"};

using IocList = std::vector<const IocSample*>;

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
    for (const auto& [cause, count] : all.causes)
      encoder.count(encoder.labels({{"ioc", ioc.name}, {"cause", cause}}), count);
  });
  exposition::SeriesList<std::uint64_t> of_records;
  for (const IocSample* ioc : iocs) {
    if (!ioc->up) continue;
    for (const RecordCauseSample& one : ioc->record_causes)
      of_records.emplace_back(
          encoder.labels(
              {{"ioc", ioc->name}, record_label(*ioc, one.record), {"cause", one.cause}}),
          one.count);
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
