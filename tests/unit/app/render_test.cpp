#include "support/snapshot.h"

#include <gtest/gtest.h>

#include "exposition/openmetrics_encoder.h"
#include "puts/totals/put_families.h"
#include "records/families/record_families.h"
#include "sample_snapshot.h"
#include "scrape_parser.h"

namespace ioc_exporter::app {
namespace {

using Scrape = std::map<std::string, ParsedFamily>;

Scrape scrape(const Snapshot& snapshot) {
  return parse_scrape(render_text(snapshot, {}));
}

// Value of a series, "" when there is none.
std::string value(const Scrape& parsed, const std::string& family, const LabelMap& labels,
                  const std::string& suffix = "") {
  const auto at = parsed.find(family);
  if (at == parsed.end()) return "";
  const auto series = at->second.series.find({family + suffix, labels});
  return series == at->second.series.end() ? "" : series->second;
}

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

constexpr const char* kProcess = "epics_record_process_total";
constexpr const char* kDuration = "epics_record_process_duration_seconds";
constexpr const char* kSelf = "epics_record_process_self_seconds_total";
constexpr const char* kSkipped = "epics_record_process_skipped_total";

TEST(Render, NothingSeenIsStillAScrape) {
  const Scrape parsed = scrape({});
  EXPECT_EQ(parsed.size(), 3u);
  EXPECT_TRUE(parsed.contains("ioc_exporter_build_info"));
  EXPECT_TRUE(parsed.contains("ioc_exporter_iocs_left_out"));
  EXPECT_TRUE(parsed.contains("ioc_exporter_detached"));
}

TEST(Render, EveryKnownRecordHasAProcessTotalFromTheStart) {
  const Scrape parsed = scrape(of({ioc_with_records("i", 2, {processed_times(1, 23)})}));
  EXPECT_EQ(value(parsed, kProcess, {{"ioc", "i"}, {"record", "R0"}}), "0");
  EXPECT_EQ(value(parsed, kProcess, {{"ioc", "i"}, {"record", "R1"}}), "23");
  EXPECT_EQ(value(parsed, kDuration, {{"ioc", "i"}, {"record", "R0"}}, "_count"), "");
  EXPECT_EQ(value(parsed, kSelf, {{"ioc", "i"}, {"record", "R0"}}), "");
  EXPECT_EQ(value(parsed, kSkipped, {{"ioc", "i"}, {"record", "R0"}, {"reason", "active"}}), "");
  EXPECT_EQ(value(parsed, "epics_ioc_records", {{"ioc", "i"}, {"record_type", "ai"}}), "2");
  EXPECT_EQ(value(parsed, "epics_ioc_records", {{"ioc", "i"}, {"record_type", "ao"}}), "");
}

// A zero would be a reset, and what comes after it would count twice.
TEST(Render, RecordsThatAreNotCountedHaveNoSeries) {
  Snapshot snapshot =
      of({ioc_with_records("i", 2), ioc_with_records("j", 1, {processed_times(0, 23)})});
  snapshot.iocs[0].no_record_counts = true;
  snapshot.iocs[0].overhead = OverheadSample{.over_budget = 0.31, .attached = false};
  const Scrape parsed = scrape(snapshot);
  for (const char* family : {kProcess, kSkipped, "epics_ioc_timed_ratio"})
    EXPECT_EQ(value(parsed, family, {{"ioc", "i"}, {"record", "R0"}}), "") << family;
  EXPECT_EQ(
      value(parsed, "epics_record_info", {{"ioc", "i"}, {"record", "R1"}, {"record_type", "ai"}}),
      "1");
  EXPECT_EQ(value(parsed, kProcess, {{"ioc", "j"}, {"record", "R0"}}), "23");
}

TEST(Render, UntimedIsProcessedButNotInTheHistogram) {
  const Scrape parsed = scrape(of({ioc_with_records("i", 1, {processed_times(0, 20, 3)})}));
  const LabelMap labels{{"ioc", "i"}, {"record", "R0"}};
  LabelMap infinity = labels;
  infinity["le"] = "+Inf";
  EXPECT_EQ(value(parsed, kProcess, labels), "23");
  EXPECT_EQ(value(parsed, kDuration, labels, "_count"), "20");
  EXPECT_EQ(value(parsed, kDuration, infinity, "_bucket"), "20");
  EXPECT_EQ(value(parsed, kDuration, labels, "_sum"), "0.02");
  EXPECT_EQ(value(parsed, kSelf, labels), "0.01");
}

TEST(Render, SkippedRecordsShowTheirReasonAndNoDuration) {
  RecordSample sample;
  sample.record = 0;
  sample.skipped_disabled = 23;
  const Scrape parsed = scrape(of({ioc_with_records("i", 1, {sample})}));
  const LabelMap labels{{"ioc", "i"}, {"record", "R0"}};
  EXPECT_EQ(value(parsed, kProcess, labels), "0");
  EXPECT_EQ(value(parsed, kSkipped, {{"ioc", "i"}, {"record", "R0"}, {"reason", "disabled"}}),
            "23");
  EXPECT_EQ(value(parsed, kSkipped, {{"ioc", "i"}, {"record", "R0"}, {"reason", "active"}}), "")
      << "it never was";
  EXPECT_FALSE(parsed.contains(kDuration));
  EXPECT_FALSE(parsed.contains(kSelf));
}

TEST(Render, UnknownRecordsAreSummedUnderAnEmptyName) {
  constexpr auto kUnknown = RecordSample::kUnknown;
  const Scrape parsed =
      scrape(of({ioc_with_records("i", 1,
                                  {processed_times(kUnknown, 10), processed_times(0, 1),
                                   processed_times(kUnknown, 11), processed_times(kUnknown, 2)})}));
  EXPECT_EQ(value(parsed, kProcess, {{"ioc", "i"}, {"record", ""}}), "23");
  EXPECT_EQ(value(parsed, kDuration, {{"ioc", "i"}, {"record", ""}}, "_count"), "23");
  EXPECT_EQ(value(parsed, kDuration, {{"ioc", "i"}, {"record", ""}}, "_sum"), "0.023");
  EXPECT_EQ(value(parsed, kProcess, {{"ioc", "i"}, {"record", "R0"}}), "1");
  EXPECT_EQ(parsed.at("epics_record_info").series.size(), 1u);
}

TEST(Render, WithoutADatabaseCountsAreKept) {
  Snapshot snapshot = of({ioc_with_records(
      "i", 1, {processed_times(0, 20), processed_times(RecordSample::kUnknown, 3)})});
  snapshot.iocs[0].database = nullptr;
  EXPECT_EQ(value(scrape(snapshot), kProcess, {{"ioc", "i"}, {"record", ""}}), "23");
}

TEST(Render, SamplesOfOneRecordAreSummed) {
  const Snapshot snapshot = of({ioc_with_records(
      "i", 1, {processed_times(0, 20), processed_times(0, 2), processed_times(0, 1)})});
  EXPECT_EQ(value(scrape(snapshot), kProcess, {{"ioc", "i"}, {"record", "R0"}}), "23");
  EXPECT_EQ(snapshot.iocs[0].records[0].buckets[slot_of(-40)], 20u);
}

TEST(Render, SameRecordInTwoIocsIsTwoSeries) {
  const Scrape parsed = scrape(of({ioc_with_records("a", 1, {processed_times(0, 2)}),
                                   ioc_with_records("b", 1, {processed_times(0, 3)})}));
  EXPECT_EQ(value(parsed, kProcess, {{"ioc", "a"}, {"record", "R0"}}), "2");
  EXPECT_EQ(value(parsed, kProcess, {{"ioc", "b"}, {"record", "R0"}}), "3");
}

TEST(Render, AnIocThatIsGoneIsOnlyDown) {
  Snapshot snapshot = of({ioc_with_records("i", 1, {processed_times(0, 2)})});
  snapshot.iocs[0].up = false;
  const Scrape parsed = scrape(snapshot);
  EXPECT_EQ(value(parsed, "epics_ioc_up", {{"ioc", "i"}}), "0");
  EXPECT_EQ(value(parsed, "epics_ioc_restarts_total", {{"ioc", "i"}}), "0");
  EXPECT_EQ(parsed.size(), 5u);  // and what is there always
}

TEST(Render, AnIocThatCameAgainIsUp) {
  Snapshot snapshot = of({ioc_with_records("i", 1), ioc_with_records("i", 2)});
  snapshot.iocs[0].up = false;
  const Scrape parsed = scrape(snapshot);
  EXPECT_EQ(value(parsed, "epics_ioc_up", {{"ioc", "i"}}), "1");
  EXPECT_EQ(parsed.at(kProcess).series.size(), 2u);
}

TEST(Render, PutsWithTheSameLabelsAreSummed) {
  Snapshot snapshot;
  snapshot.puts = {{"i", "pv", "c", "u", "h", PutOp::write, 20},
                   {"i", "pv", "c", "u", "h", PutOp::write_notify, 5, 20.5},
                   {"i", "pv", "c", "u", "h", PutOp::write, 3, 10.5}};
  snapshot.pva.puts = {{"i", "pv", "c", "u", "h", PutOp::write, 19, 30.5, 0, true}};
  const Scrape parsed = scrape(snapshot);
  LabelMap labels{{"ioc", "i"},  {"protocol", "ca"},   {"pv", "pv"},   {"client", "c"},
                  {"user", "u"}, {"client_host", "h"}, {"op", "write"}};
  EXPECT_EQ(value(parsed, "epics_puts_total", labels), "23");
  labels["op"] = "write_notify";
  EXPECT_EQ(value(parsed, "epics_puts_total", labels), "5");
  labels.erase("op");
  EXPECT_EQ(value(parsed, "epics_last_put_timestamp_seconds", labels), "20.5");
  labels["protocol"] = "pva";
  EXPECT_EQ(value(parsed, "epics_last_put_timestamp_seconds", labels), "30.5");
  labels["op"] = "put";
  EXPECT_EQ(value(parsed, "epics_puts_total", labels), "19");
}

TEST(Render, ALastPutThatIsNotKnownIsNoTimeAtAll) {
  Snapshot snapshot;
  snapshot.puts = {{"i", "pv", "c", "u", "h", PutOp::write, 20}};
  EXPECT_FALSE(scrape(snapshot).contains("epics_last_put_timestamp_seconds"));
}

TEST(Render, PutDurationsWithTheSameLabelsAreSummed) {
  Snapshot snapshot;
  PutDurationSample one{"i", "pv", 1'000'000'000, {}};
  one.buckets[exposition::kPutScale.slot(0)] = 1;
  PutDurationSample slow{"i", "pv", 2'000'000'000'000, {}};
  slow.buckets[kPutHistogramSlots - 1] = 2;
  snapshot.put_durations = {one, slow, one};
  const Scrape parsed = scrape(snapshot);
  constexpr const char* kPutDuration = "epics_put_duration_seconds";
  const LabelMap labels{{"ioc", "i"}, {"protocol", "ca"}, {"pv", "pv"}};
  const auto up_to = [&](const char* edge) {
    LabelMap with_edge = labels;
    with_edge["le"] = edge;
    return value(parsed, kPutDuration, with_edge, "_bucket");
  };
  EXPECT_EQ(value(parsed, kPutDuration, labels, "_count"), "4");
  EXPECT_EQ(value(parsed, kPutDuration, labels, "_sum"), "2002");
  EXPECT_EQ(up_to("0.25"), "0");
  EXPECT_EQ(up_to("1"), "2");
  EXPECT_EQ(up_to("64"), "2");
  EXPECT_EQ(up_to("+Inf"), "4");
}

TEST(Render, ServersAndClientsWithTheSameLabelsAreSummed) {
  Snapshot snapshot;
  CaServerSample server;
  server.ioc = "i";
  server.circuits = 11;
  server.channels = {1, 2, 3, 4, 5};
  server.sent_bytes = UINT64_C(1) << 60;
  snapshot.ca_servers = {server, server};
  snapshot.ca_clients = {{"i", "c", "u", "h", 1, 20, 7}, {"i", "c", "u", "h", 1, 3, 4}};
  const Scrape parsed = scrape(snapshot);
  EXPECT_EQ(value(parsed, "epics_circuits", {{"ioc", "i"}, {"protocol", "ca"}}), "22");
  EXPECT_EQ(value(parsed, "epics_ca_sent_bytes_total", {{"ioc", "i"}}), "2305843009213693952");
  EXPECT_EQ(
      value(parsed, "epics_channels", {{"ioc", "i"}, {"protocol", "ca"}, {"access", "read_write"}}),
      "8");
  EXPECT_EQ(
      value(parsed, "epics_channels", {{"ioc", "i"}, {"protocol", "ca"}, {"access", "unknown"}}),
      "10");
  const LabelMap client{
      {"ioc", "i"}, {"protocol", "ca"}, {"client", "c"}, {"user", "u"}, {"client_host", "h"}};
  EXPECT_EQ(value(parsed, "epics_client_circuits", client), "2");
  EXPECT_EQ(value(parsed, "epics_client_channels", client), "23");
  EXPECT_EQ(value(parsed, "epics_client_monitors", client), "11");
}

TEST(Render, PutsWhoseNamesAreNoUtf8StayApart) {
  Snapshot snapshot;
  snapshot.puts = {{"i", "\xFF", "", "", "", PutOp::write, 1},
                   {"i", "\xFE", "", "", "", PutOp::write, 2},
                   {"i", "\\xFF", "", "", "", PutOp::write, 3}};
  EXPECT_EQ(scrape(snapshot).at("epics_puts_total").series.size(), 3u);
}

TEST(Render, HistogramsAgreeWithThemselves) {
  const Scrape parsed = parse_scrape(render_text(sample_snapshot(), sample_exporter()));
  const auto& series = parsed.at(kDuration).series;
  std::size_t histograms = 0;
  for (const auto& [key, count] : series) {
    if (key.first != std::string(kDuration) + "_count") continue;
    ++histograms;
    std::map<double, unsigned long long> by_edge;
    for (const auto& [other, text] : series) {
      LabelMap labels = other.second;
      if (!labels.contains("le")) continue;
      const double edge = std::stod(labels["le"]);
      labels.erase("le");
      if (labels == key.second) by_edge[edge] = std::stoull(text);
    }
    ASSERT_EQ(by_edge.size(), 12u);
    unsigned long long before = 0;
    for (const auto& [edge, cumulative] : by_edge) {
      EXPECT_GE(cumulative, before);
      before = cumulative;
    }
    EXPECT_EQ(before, std::stoull(count));
  }
  EXPECT_EQ(histograms, 2u);
}

}  // namespace
}  // namespace ioc_exporter::app
