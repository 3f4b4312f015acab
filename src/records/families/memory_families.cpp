#include "records/families/memory_families.h"

#include <array>
#include <string_view>

namespace ioc_exporter::records {
namespace {

constexpr exposition::Family kOverruns{
    "epics_ioc_scan_overruns_total", exposition::FamilyType::counter,
    "Cycles in which a scan list took longer than its period (in seconds), "
    "as the IOC counts them."};
constexpr exposition::Family kListed{"epics_ioc_scan_records", exposition::FamilyType::gauge,
                                     "Records on the scan list of a period (in seconds)."};
constexpr exposition::Family kLength{"epics_ioc_queue_length", exposition::FamilyType::gauge,
                                     "Elements that wait in a queue of callbacks, or of scanOnce."};
constexpr exposition::Family kCapacity{"epics_ioc_queue_capacity", exposition::FamilyType::gauge,
                                       "Elements that the queue can hold."};
constexpr exposition::Family kHighWater{
    "epics_ioc_queue_high_water_mark", exposition::FamilyType::gauge,
    "Most elements that the queue has held, as the IOC notes them."};
constexpr exposition::Family kOverflows{
    "epics_ioc_queue_overflows_total", exposition::FamilyType::counter,
    "Times that the queue was found full, as the IOC counts them."};
constexpr exposition::Family kSeverity{"epics_ioc_records_by_severity",
                                       exposition::FamilyType::gauge,
                                       "Records whose SEVR was this when they were looked at."};
constexpr exposition::Family kInFlight{"epics_ioc_records_in_flight", exposition::FamilyType::gauge,
                                       "Records that were active (PACT) when they were looked at."};
constexpr exposition::Family kStuck{
    "epics_ioc_records_stuck", exposition::FamilyType::gauge,
    "Records that are active (PACT) for longer than --records.stuck-after."};
constexpr exposition::Family kLooked{
    "epics_ioc_records_sampled_timestamp_seconds", exposition::FamilyType::gauge,
    "When the records were looked at last, in seconds since 1970."};
constexpr exposition::Family kSuspended{"epics_ioc_threads_suspended",
                                        exposition::FamilyType::gauge,
                                        "Threads that are suspended, as after a failed assertion."};
constexpr std::array<std::string_view, 4> kSeverityLabels{"no_alarm", "minor", "major", "invalid"};

using Iocs = std::vector<const IocSample*>;

const IocMemorySample* memory_of(const IocSample* ioc) {
  return ioc->up ? ioc->memory.get() : nullptr;
}

// Of counters that the IOC itself keeps; gauges leave it out.
exposition::CounterFacts since_its_start(const IocSample& ioc) {
  return {.created_seconds = ioc.start_time_seconds};
}

template <class Value>
void encode_scan_lists(const exposition::Family& family, const Iocs& iocs,
                       exposition::Encoder& encoder, Value value) {
  encoder.begin_family(family);
  for (const IocSample* ioc : iocs) {
    const IocMemorySample* const memory = memory_of(ioc);
    if (memory == nullptr || !memory->scan_lists) continue;
    for (const ScanListSample& list : *memory->scan_lists)
      if (const std::optional<std::uint64_t> number = value(list))
        encoder.count(encoder.labels({{"ioc", ioc->name}, {"period", list.period}}), *number,
                      since_its_start(*ioc));
  }
}

template <class Value>
void encode_queues(const exposition::Family& family, const Iocs& iocs, exposition::Encoder& encoder,
                   Value value) {
  encoder.begin_family(family);
  for (const IocSample* ioc : iocs) {
    const IocMemorySample* const memory = memory_of(ioc);
    if (memory == nullptr || !memory->queues) continue;
    for (const QueueSample& queue : *memory->queues)
      if (const std::optional<std::uint64_t> number = value(queue))
        encoder.count(encoder.labels({{"ioc", ioc->name}, {"queue", queue.queue}}), *number,
                      since_its_start(*ioc));
  }
}

// each(records, labels) for every IOC whose records were looked at.
template <class Each>
void for_each_state(const exposition::Family& family, const Iocs& iocs,
                    exposition::Encoder& encoder, Each each) {
  encoder.begin_family(family);
  for (const IocSample* ioc : iocs) {
    const IocMemorySample* const memory = memory_of(ioc);
    if (memory != nullptr && memory->records)
      each(*memory->records, encoder.labels({{"ioc", ioc->name}}));
  }
}

void encode_states(const Iocs& iocs, exposition::Encoder& encoder) {
  using Labels = const exposition::EncodedLabels&;
  for_each_state(kSeverity, iocs, encoder, [&](const RecordStatesSample& records, Labels labels) {
    for (std::size_t i = 0; i < kSeverityLabels.size(); ++i)
      encoder.count(labels, encoder.labels({{"severity", kSeverityLabels[i]}}),
                    records.by_severity[i]);
  });
  for_each_state(kInFlight, iocs, encoder, [&](const RecordStatesSample& records, Labels labels) {
    encoder.count(labels, records.in_flight);
  });
  for_each_state(kStuck, iocs, encoder, [&](const RecordStatesSample& records, Labels labels) {
    encoder.count(labels, records.stuck);
  });
  for_each_state(kLooked, iocs, encoder, [&](const RecordStatesSample& records, Labels labels) {
    encoder.number(labels, records.time_seconds);
  });
}

}  // namespace

void encode_ioc_memory(const Iocs& iocs, exposition::Encoder& encoder) {
  using Number = std::optional<std::uint64_t>;
  encode_scan_lists(kOverruns, iocs, encoder, [](const ScanListSample& l) { return l.overruns; });
  encode_scan_lists(kListed, iocs, encoder,
                    [](const ScanListSample& l) { return Number(l.records); });
  encode_queues(kLength, iocs, encoder, [](const QueueSample& q) { return Number(q.length); });
  encode_queues(kCapacity, iocs, encoder, [](const QueueSample& q) { return Number(q.capacity); });
  encode_queues(kHighWater, iocs, encoder, [](const QueueSample& q) { return q.high_water_mark; });
  encode_queues(kOverflows, iocs, encoder, [](const QueueSample& q) { return q.overflows; });
  encode_states(iocs, encoder);
  encoder.begin_family(kSuspended);
  for (const IocSample* ioc : iocs) {
    const IocMemorySample* const memory = memory_of(ioc);
    if (memory != nullptr && memory->suspended_threads)
      encoder.count(encoder.labels({{"ioc", ioc->name}}), memory->suspended_threads->size());
  }
}

}  // namespace ioc_exporter::records
