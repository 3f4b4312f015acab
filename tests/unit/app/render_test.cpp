// What the golden scrape does not show: samples that are summed, and series that are not there.
#include "support/snapshot.h"

#include <gtest/gtest.h>

#include "puts/totals/put_families.h"
#include "records/families/record_families.h"
#include "sample_snapshot.h"

namespace ioc_exporter::app {
namespace {

IocSample ioc_with_records(const std::string& name, std::size_t count,
                           std::vector<RecordSample> records = {}) {
  auto database = std::make_shared<Database>();
  database->types = {"ai", "ao"};
  for (std::size_t i = 0; i < count; ++i)
    database->records.push_back(
        {0x1000 + i * 0x1000, std::string("R").append(std::to_string(i)), 0});
  IocSample ioc;
  ioc.name = name;
  ioc.up = true;
  ioc.database = database;
  ioc.records = std::move(records);
  return ioc;
}
Snapshot of(std::vector<IocSample> iocs) {
  Snapshot snapshot;
  snapshot.iocs = std::move(iocs);
  return snapshot;
}

RecordSample processed_times(std::uint32_t record, std::uint64_t timed, std::uint64_t untimed = 0) {
  RecordSample sample;
  sample.record = record;
  sample.buckets[slot_of(-40)] = timed;
  sample.processed = timed + untimed;
  sample.sum_ns = timed * 1'000'000;
  sample.self_ns = timed * 500'000;
  return sample;
}

Snapshot changed(Snapshot snapshot, const std::function<void(Snapshot&)>& change) {
  change(snapshot);
  return snapshot;
}

RecordSample disabled() {
  RecordSample sample;
  sample.record = 0;
  sample.skipped_disabled = 23;
  return sample;
}

PutDurationSample put_duration(std::uint64_t sum_ns, std::size_t slot, std::uint64_t count) {
  PutDurationSample sample{"i", "pv", sum_ns, {}};
  sample.buckets[slot] = count;
  return sample;
}

ServerSample server() {
  ServerSample server;
  server.ioc = "i";
  server.circuits = 11;
  server.channels = {1, 2, 3, 4, 5};
  server.sent_bytes = UINT64_C(1) << 60;
  return server;
}

constexpr auto kUnknown = RecordSample::kUnknown;
const std::string kWho = R"(,client="c",user="u",client_host="h")";

struct Case {
  const char* what;
  Snapshot snapshot;
  std::vector<std::string> there;      // whole lines
  std::vector<std::string> not_there;  // parts of lines
};

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = {
      {"known records count from the start",
       of({ioc_with_records("i", 2, {processed_times(1, 23)})}),
       {R"(epics_record_process_total{ioc="i",record="R0",record_type="ai"} 0)",
        R"(epics_record_process_total{ioc="i",record="R1",record_type="ai"} 23)",
        R"(epics_ioc_records{ioc="i",record_type="ai"} 2)"},
       {R"(_count{ioc="i",record="R0")", R"(self_seconds_total{ioc="i",record="R0")",
        R"(skipped_total{ioc="i",record="R0")", R"(record_type="ao")"}},
      // A zero would be a reset, and what comes after it would count twice.
      {"records that are not counted have no series",
       changed(of({ioc_with_records("i", 2), ioc_with_records("j", 1, {processed_times(0, 23)})}),
               [](Snapshot& snapshot) {
                 snapshot.iocs[0].no_record_counts = true;
                 snapshot.iocs[0].overhead = OverheadSample{.over_budget = 0.31, .attached = false};
               }),
       {R"(epics_ioc_records{ioc="i",record_type="ai"} 2)",
        R"(epics_record_process_total{ioc="j",record="R0",record_type="ai"} 23)"},
       {R"(epics_record_process_total{ioc="i")", R"(epics_record_process_skipped_total{ioc="i")",
        R"(epics_ioc_timed_ratio{ioc="i")"}},
      {"what is not timed is processed, but not in the histogram",
       of({ioc_with_records("i", 1, {processed_times(0, 20, 3)})}),
       {R"(epics_record_process_total{ioc="i",record="R0",record_type="ai"} 23)",
        R"(epics_record_process_duration_seconds_count{ioc="i",record="R0"} 20)",
        R"(epics_record_process_duration_seconds_bucket{ioc="i",record="R0",le="+Inf"} 20)",
        R"(epics_record_process_duration_seconds_sum{ioc="i",record="R0"} 0.02)",
        R"(epics_record_process_self_seconds_total{ioc="i",record="R0"} 0.01)"},
       {}},
      {"skipped records have a reason and no duration",
       of({ioc_with_records("i", 1, {disabled()})}),
       {R"(epics_record_process_total{ioc="i",record="R0",record_type="ai"} 0)",
        R"(epics_record_process_skipped_total{ioc="i",record="R0",reason="disabled"} 23)"},
       {R"(reason="active")", "epics_record_process_duration_seconds",
        "epics_record_process_self_seconds"}},
      {"unknown records, and samples of one, are summed",
       of({ioc_with_records(
           "i", 1,
           {processed_times(kUnknown, 10), processed_times(0, 1), processed_times(kUnknown, 11),
            processed_times(0, 1), processed_times(kUnknown, 2)})}),
       {R"(epics_record_process_total{ioc="i",record=""} 23)",
        R"(epics_record_process_duration_seconds_count{ioc="i",record=""} 23)",
        R"(epics_record_process_duration_seconds_sum{ioc="i",record=""} 0.023)",
        R"(epics_record_process_total{ioc="i",record="R0",record_type="ai"} 2)"},
       {R"(record="",record_type)"}},
      {"counts are kept without a database",
       changed(
           of({ioc_with_records("i", 1, {processed_times(0, 20), processed_times(kUnknown, 3)})}),
           [](Snapshot& snapshot) { snapshot.iocs[0].database = nullptr; }),
       {R"(epics_record_process_total{ioc="i",record=""} 23)"},
       {}},
      {"a record of two IOCs is two series",
       of({ioc_with_records("a", 1, {processed_times(0, 2)}),
           ioc_with_records("b", 1, {processed_times(0, 3)})}),
       {R"(epics_record_process_total{ioc="a",record="R0",record_type="ai"} 2)",
        R"(epics_record_process_total{ioc="b",record="R0",record_type="ai"} 3)"},
       {}},
      {"an IOC that is gone is only down",
       changed(of({ioc_with_records("i", 1, {processed_times(0, 2)})}),
               [](Snapshot& snapshot) { snapshot.iocs[0].up = false; }),
       {R"(epics_ioc_up{ioc="i"} 0)", R"(epics_ioc_restarts_total{ioc="i"} 0)"},
       {"epics_record_", "epics_ioc_records"}},
      {"an IOC that came again is up",
       changed(of({ioc_with_records("i", 1), ioc_with_records("i", 2)}),
               [](Snapshot& snapshot) { snapshot.iocs[0].up = false; }),
       {R"(epics_ioc_up{ioc="i"} 1)",
        R"(epics_record_process_total{ioc="i",record="R1",record_type="ai"} 0)"},
       {}},
      {"puts with the same labels are summed",
       changed({},
               [](Snapshot& snapshot) {
                 snapshot.puts = {{"i", "pv", "c", "u", "h", PutOp::write, 20},
                                  {"i", "pv", "c", "u", "h", PutOp::write_notify, 5, 20.5},
                                  {"i", "pv", "c", "u", "h", PutOp::write, 3, 10.5}};
                 snapshot.pva.puts = {{"i", "pv", "c", "u", "h", PutOp::write, 19, 30.5, 0, true}};
               }),
       {R"(epics_puts_total{ioc="i",protocol="ca",pv="pv")" + kWho + R"(,op="write"} 23)",
        R"(epics_puts_total{ioc="i",protocol="ca",pv="pv")" + kWho + R"(,op="write_notify"} 5)",
        R"(epics_puts_total{ioc="i",protocol="pva",pv="pv")" + kWho + R"(,op="put"} 19)",
        R"(epics_last_put_timestamp_seconds{ioc="i",protocol="ca",pv="pv")" + kWho + "} 20.5",
        R"(epics_last_put_timestamp_seconds{ioc="i",protocol="pva",pv="pv")" + kWho + "} 30.5"},
       {}},
      {"a last put that is not known is no time at all",
       changed({},
               [](Snapshot& snapshot) {
                 snapshot.puts = {{"i", "pv", "c", "u", "h", PutOp::write, 20}};
               }),
       {},
       {"epics_last_put_timestamp_seconds"}},
      {"durations of puts with the same labels are summed",
       changed({},
               [](Snapshot& snapshot) {
                 const auto one = put_duration(1'000'000'000, exposition::kPutScale.slot(0), 1);
                 snapshot.put_durations = {
                     one, put_duration(2'000'000'000'000, kPutHistogramSlots - 1, 2), one};
               }),
       {R"(epics_put_duration_seconds_count{ioc="i",protocol="ca",pv="pv"} 4)",
        R"(epics_put_duration_seconds_sum{ioc="i",protocol="ca",pv="pv"} 2002)",
        R"(epics_put_duration_seconds_bucket{ioc="i",protocol="ca",pv="pv",le="0.25"} 0)",
        R"(epics_put_duration_seconds_bucket{ioc="i",protocol="ca",pv="pv",le="4"} 2)",
        R"(epics_put_duration_seconds_bucket{ioc="i",protocol="ca",pv="pv",le="64"} 2)",
        R"(epics_put_duration_seconds_bucket{ioc="i",protocol="ca",pv="pv",le="+Inf"} 4)"},
       {}},
      {"servers and clients with the same labels are summed",
       changed({},
               [](Snapshot& snapshot) {
                 snapshot.servers = {server(), server()};
                 snapshot.clients = {{"i", "c", "u", "h", 1, 20, 7}, {"i", "c", "u", "h", 1, 3, 4}};
               }),
       {R"(epics_circuits{ioc="i",protocol="ca"} 22)",
        R"(epics_ca_sent_bytes_total{ioc="i"} 2305843009213693952)",
        R"(epics_channels{ioc="i",protocol="ca",access="read_write"} 8)",
        R"(epics_channels{ioc="i",protocol="ca",access="unknown"} 10)",
        R"(epics_client_circuits{ioc="i",protocol="ca")" + kWho + "} 2",
        R"(epics_client_channels{ioc="i",protocol="ca")" + kWho + "} 23",
        R"(epics_client_monitors{ioc="i",protocol="ca")" + kWho + "} 11"},
       {}},
      {"what has no limit in force has no series",
       changed({},
               [](Snapshot& snapshot) {
                 snapshot.limited = {{"records", 0}, {"puts", 7}};
               }),
       {R"(ioc_exporter_series_limited{family="puts"} 7)"},
       {R"(family="records")"}},
      {"nothing seen is still a scrape", {}, {"ioc_exporter_detached 0"}, {"epics_"}}};
  return kCases;
}

TEST(Render, SeriesOfEachCase) {
  for (const Case& one : cases()) {
    const std::string text = render_text(one.snapshot, {});
    for (const std::string& line : one.there)
      EXPECT_NE(text.find("\n" + line + "\n"), std::string::npos)
          << one.what << ": " << line << "\n"
          << text;
    for (const std::string& part : one.not_there)
      EXPECT_EQ(text.find(part), std::string::npos) << one.what << ": " << part << "\n" << text;
  }
}

}  // namespace
}  // namespace ioc_exporter::app
