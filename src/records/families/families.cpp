#include "records/families/families.h"

#include <algorithm>
#include <functional>

#include "exposition/family_table.h"
#include "iocs/families.h"

namespace ioc_exporter::records {
namespace {

using exposition::counter;
using exposition::FamilyRow;
using exposition::gauge;
using exposition::histogram;
using exposition::Label;
using exposition::Series;
using exposition::when;
using Iocs = std::vector<const IocSample*>;
using Row = FamilyRow<IocSample>;

constexpr std::array<std::string_view, kSeverities> kSeverityNames{"no_alarm", "minor", "major",
                                                                   "invalid"};

template <class Counts>
void add_by_severity(const Counts& counts, Series& to) {
  for (std::size_t i = 0; i < kSeverities; ++i)
    to.add({{"severity", kSeverityNames[i]}}, counts[i]);
}

// "scan_0.1" is the cause scan, of the list with this period; all others have none.
std::pair<std::string_view, std::string_view> cause_and_period(std::string_view label) {
  constexpr std::string_view kScan = "scan_";
  if (!label.starts_with(kScan)) return {label, {}};
  return {kScan.substr(0, kScan.size() - 1), label.substr(kScan.size())};
}

bool is_empty(const ScanListSample& list) {
  return list.records == 0 && list.overruns.value_or(0) == 0;
}

// One series for each scan list that could be read and has records. Counters are the IOC's own,
// from its start on.
template <auto kValue>
void add_scan_lists(const IocSample& ioc, Series& to) {
  if (!ioc.memory->scan_lists) return;
  for (const ScanListSample& list : *ioc.memory->scan_lists)
    if (!is_empty(list)) to.add({{"period", list.period}}, list.*kValue, ioc.start_time_seconds);
}

template <auto kValue>
void add_queues(const IocSample& ioc, Series& to) {
  if (!ioc.memory->queues) return;
  for (const QueueSample& queue : *ioc.memory->queues)
    to.add({{"queue", queue.queue}}, queue.*kValue, ioc.start_time_seconds);
}

template <auto kValue>
void add_record_states(const IocSample& ioc, Series& to) {
  if (ioc.memory->records) to.add((*ioc.memory->records).*kValue);
}

template <auto kValue>
void add_ca_links(const IocSample& ioc, Series& to) {
  if (ioc.memory->ca_links) to.add({}, (*ioc.memory->ca_links).*kValue, ioc.start_time_seconds);
}

// Of running IOCs with `memory`.
constexpr Row kMemory[] = {
    {counter("epics_ioc_scan_overruns_total",
             "Cycles in which a scan list took longer than its period (in seconds), as the IOC "
             "counts them."),
     add_scan_lists<&ScanListSample::overruns>},
    {gauge("epics_ioc_scan_records", "Records on the scan list of a period (in seconds)."),
     add_scan_lists<&ScanListSample::records>},
    {gauge("epics_ioc_queue_length", "Elements that wait in a queue of callbacks, or of scanOnce."),
     add_queues<&QueueSample::length>},
    {gauge("epics_ioc_queue_capacity", "Elements that the queue can hold."),
     add_queues<&QueueSample::capacity>},
    {gauge("epics_ioc_queue_high_water_mark",
           "Most elements that the queue has held, as the IOC notes them."),
     add_queues<&QueueSample::high_water_mark>},
    {counter("epics_ioc_queue_overflows_total",
             "Times that the queue was found full, as the IOC counts them."),
     add_queues<&QueueSample::overflows>},
    {gauge("epics_ioc_records_by_severity",
           "Records by alarm severity (SEVR), when they were last read."),
     [](const IocSample& ioc, Series& to) {
       if (ioc.memory->records) add_by_severity(ioc.memory->records->by_severity, to);
     }},
    {gauge("epics_ioc_records_in_flight",
           "Records that were active (PACT) when they were last read."),
     add_record_states<&RecordStatesSample::in_flight>},
    {gauge("epics_ioc_records_stuck",
           "Records that have been active (PACT) for longer than --records.stuck-after, without "
           "those of epics_ioc_records_never_processed."),
     add_record_states<&RecordStatesSample::stuck>},
    {gauge("epics_ioc_records_never_processed",
           "Records that have been active (PACT) for longer than --records.stuck-after and have "
           "never completed a processing: iocInit left them active for want of a device, or their "
           "first processing hangs."),
     add_record_states<&RecordStatesSample::never_processed>},
    {gauge("epics_ioc_records_sampled_timestamp_seconds",
           "When all records were last read, in seconds since 1970."),
     add_record_states<&RecordStatesSample::time_seconds>},
    {gauge("epics_ioc_ca_links",
           "Channel Access links of the IOC's records, by state: connected or disconnected."),
     [](const IocSample& ioc, Series& to) {
       if (!ioc.memory->ca_links) return;
       to.add({{"state", "connected"}}, ioc.memory->ca_links->connected);
       to.add({{"state", "disconnected"}}, ioc.memory->ca_links->disconnected);
     }},
    {counter("epics_ioc_ca_link_disconnects_total",
             "Times that a Channel Access link of the IOC's records was disconnected, as the IOC "
             "counts them."),
     add_ca_links<&CaLinksSample::disconnects>},
    {counter("epics_ioc_ca_link_lost_writes_total",
             "Writes through Channel Access links that a later one replaced before they were "
             "sent, as the IOC counts them."),
     add_ca_links<&CaLinksSample::lost_writes>},
    {gauge("epics_ioc_threads_suspended",
           "Threads that are suspended, as after a failed assertion."),
     [](const IocSample& ioc, Series& to) {
       if (ioc.memory->suspended_threads) to.add(ioc.memory->suspended_threads->size());
     }},
};

// Of running IOCs with `processing`.
constexpr Row kCauses[] = {
    {counter("epics_ioc_processings_total", "Processings of the IOC's records by their cause."),
     [](const IocSample& ioc, Series& to) {
       for (const auto& [label, count] : ioc.processing->causes) {
         const auto [cause, period] = cause_and_period(label);
         to.add({{"cause", cause}, {"period", period}}, count);
       }
     }},
    {counter("epics_ioc_process_by_thread_total",
             "Processings of the IOC's records that no other record caused, by the name of their "
             "thread, without the number at its end."),
     [](const IocSample& ioc, Series& to) {
       for (const auto& [thread, count] : ioc.processing->threads)
         to.add({{"thread", thread}}, count);
     }},
};

constexpr Row kRecordCauses[] = {
    {counter("epics_record_process_cause_total", "Processings of a record by their cause."),
     [](const IocSample& ioc, Series& to) {
       for (const RecordCauseSample& one : ioc.record_causes) {
         const auto [cause, period] = cause_and_period(one.cause);
         to.add({record_label(ioc, one.record), {"cause", cause}, {"period", period}}, one.count);
       }
     }},
};

// Of running IOCs with `processing`.
constexpr Row kProcessings[] = {
    {counter("epics_ioc_timed_total",
             "Processings of the IOC's records whose duration was measured; one of them may stand "
             "for several."),
     [](const IocSample& ioc, Series& to) { to.add(ioc.processing->timed); }},
    {gauge("epics_ioc_direct_counted_since_timestamp_seconds",
           "Since when the IOC's processings that do not come through dbProcess are counted, in "
           "seconds since 1970; absent while the exporter only looks for them now and then."),
     [](const IocSample& ioc, Series& to) { to.add(ioc.direct_since_seconds); }},
    {counter("epics_ioc_alarm_transitions_total",
             "Changes of a record's severity, by the new one."),
     [](const IocSample& ioc, Series& to) { add_by_severity(ioc.processing->transitions, to); }},
};

void add_writes(const IocSample& ioc, Series& to) {
  for (const RecordSample& sample : ioc.records)
    for (std::size_t source = 0; source < sample.puts.size(); ++source)
      if (sample.puts[source] > 0)
        to.add({record_label(ioc, sample.record), {"source", iocx_put_source_labels[source]}},
               sample.puts[source]);
}

constexpr Row kWrites[] = {
    {counter("epics_record_writes_total",
             "Writes to fields of the record, by source: clients (ca, pva), links, Channel Access "
             "clients in the IOC itself (inside), its shell, others."),
     add_writes},
};

constexpr Row kCompletions[] = {
    {histogram("epics_record_completion_duration_seconds",
               "Asynchronous records: time from the start of dbProcess to completion; sampled "
               "while epics_ioc_timed_ratio is below 1."),
     [](const IocSample& ioc, Series& to) {
       if (!ioc.database) return;
       for (const CompletionSample& one : ioc.completions)
         to.add_histogram({record_label(ioc, one.record)}, one.buckets, one.sum_ns);
     }},
};

// Whether passes through that list are shown: where its records are not known they are.
bool shows_passes(const IocSample& ioc, const ScanTimeSample& passes) {
  if (!ioc.memory || !ioc.memory->scan_lists) return true;
  const auto& lists = *ioc.memory->scan_lists;
  const auto list = std::ranges::find(lists, passes.period, &ScanListSample::period);
  return list == lists.end() || !is_empty(*list);
}

template <auto kValue>
void add_scan_times(const IocSample& ioc, Series& to) {
  for (const ScanTimeSample& list : ioc.scan_times)
    if (shows_passes(ioc, list)) to.add({{"period", list.period}}, list.*kValue);
}

constexpr Row kScanTimes[] = {
    {histogram("epics_ioc_scan_list_duration_seconds",
               "Time that a pass through the periodic scan list took. One that takes longer than "
               "the period is an overrun."),
     [](const IocSample& ioc, Series& to) {
       for (const ScanTimeSample& list : ioc.scan_times)
         if (shows_passes(ioc, list))
           to.add_histogram({{"period", list.period}}, list.buckets, list.sum_ns);
     }},
    {gauge("epics_ioc_scan_period_seconds", "Period of the scan list."),
     add_scan_times<&ScanTimeSample::period_seconds>},
    {gauge("epics_ioc_scan_last_timestamp_seconds",
           "When the last pass through the scan list ended, in seconds since 1970: the heartbeat "
           "of its thread."),
     add_scan_times<&ScanTimeSample::last_time_seconds>},
    {gauge("epics_ioc_scan_age_seconds",
           "Time since the last pass through the scan list ended, by the host's own clock."),
     add_scan_times<&ScanTimeSample::age_seconds>},
};

constexpr exposition::Family kProbeHit = gauge(
    "ioc_exporter_probe_hit_seconds",
    "Time that an empty probe takes on this machine, measured at start, by what the kernel does "
    "with the instruction there: emulated or stepped.");

constexpr Row kOverhead[] = {
    {gauge("epics_ioc_timed_ratio",
           "Fraction of the IOC's processings that are timed: below 1, each stands for several in "
           "durations; 0, none is timed."),
     [](const IocSample& ioc, Series& to) {
       if (ioc.overhead) to.add(when(!ioc.overhead->over_budget, ioc.overhead->timed_share));
     }},
    {gauge(
         "epics_ioc_nothing_counted",
         "Whether the IOC has used CPU time for five minutes in which the record probes on it saw "
         "nothing."),
     [](const IocSample& ioc, Series& to) {
       if (ioc.overhead) to.add(ioc.overhead->nothing_counted);
     }},
    {gauge("epics_ioc_extras_watched",
           "Whether writes to records and scan lists of the running IOC are counted, while its "
           "records are: not when the probes for them cost too much."),
     [](const IocSample& ioc, Series& to) {
       if (ioc.overhead) to.add(when(ioc.records_watched, ioc.overhead->has_extras));
     }},
    {gauge("epics_ioc_records_watched",
           "Whether the records of the running IOC are counted; where not, the page at / says "
           "why."),
     [](const IocSample& ioc, Series& to) { to.add(when(ioc.base, ioc.records_watched)); }},
};

std::array<Label, 1> ioc_label(const IocSample& ioc) {
  return {Label{"ioc", ioc.name}};
}

template <class Rows>
void encode(const Rows& rows, const Iocs& iocs, exposition::Encoder& encoder) {
  Series to(encoder);
  exposition::add_families(rows, iocs, ioc_label, to);
}

// IOCs that have this member.
template <class Member>
Iocs with(const Iocs& iocs, Member member) {
  Iocs those;
  std::ranges::copy_if(iocs, std::back_inserter(those),
                       [member](const IocSample* ioc) { return bool(std::invoke(member, *ioc)); });
  return those;
}

// Upper estimates of a line's length; what is missing only costs a copy.
std::size_t estimated_size(const std::vector<IocSample>& iocs, const ShownEdges& edges) {
  constexpr std::size_t kLine = 110, kLinesOfIoc = 40;
  const std::size_t lines_per_record = edges.process.ks().size() + 6;
  std::size_t lines = 0;
  for (const IocSample& ioc : iocs) {
    lines += kLinesOfIoc + ioc.records.size() * lines_per_record;
    if (ioc.database) lines += ioc.database->records.size() * 2;
  }
  return lines * kLine;
}

}  // namespace

void encode_all(const std::vector<IocSample>& iocs, const std::vector<IocSample>* by_type,
                const std::optional<kernel::HitCost>& cost, const ShownEdges& edges,
                LabelCache& cache, exposition::Encoder& encoder) {
  encoder.reserve(estimated_size(iocs, edges));
  cache.drop_gone();
  const Iocs up = with(iocs::distinct_iocs(iocs), &IocSample::up);
  const Iocs timed = by_type != nullptr ? with(iocs::distinct_iocs(*by_type), &IocSample::up) : up;
  encode(kMemory, with(up, &IocSample::memory), encoder);
  encode_records(up, by_type != nullptr ? &timed : nullptr, edges.process, cache, encoder);
  const Iocs counted = with(up, &IocSample::processing);
  encode(kCauses, counted, encoder);
  exposition::encode_merged(kRecordCauses, up, ioc_label, encoder);
  encode(kProcessings, counted, encoder);
  const Iocs with_extras = with(up, &IocSample::has_extras);
  exposition::encode_merged(kWrites, with_extras, ioc_label, encoder);
  exposition::encode_merged(kCompletions, timed, ioc_label, encoder, &edges.completions);
  exposition::encode_merged(kScanTimes, with_extras, ioc_label, encoder, &edges.scans);
  encoder.begin_family(kProbeHit);
  const auto add_cost = [&encoder](std::string_view kind, double seconds) {
    const Label label[] = {{"instruction", kind}};
    encoder.number(encoder.labels(label), seconds);
  };
  if (cost) add_cost("emulated", cost->emulated);
  if (cost) add_cost("stepped", cost->stepped);
  encode(kOverhead, up, encoder);
}

}  // namespace ioc_exporter::records
