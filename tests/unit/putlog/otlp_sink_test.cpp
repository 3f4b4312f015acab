// Puts as log records. That they say what lines do is tested with the protocol's own code (e2e).
#include "putlog/otlp_sink.h"

#include <gtest/gtest.h>

#include <protozero/pbf_reader.hpp>
#include <string>
#include <vector>

#include "events.h"
#include "support/answering_server.h"

namespace ioc_exporter::putlog {
namespace {

using protozero::pbf_reader;

std::vector<pbf_reader> messages(pbf_reader in, std::uint32_t field) {
  std::vector<pbf_reader> found;
  while (in.next(field)) found.push_back(in.get_message());
  return found;
}

// resource_logs, scope_logs, log_records.
std::vector<pbf_reader> records(const OtlpLogs& logs) {
  std::vector<pbf_reader> all;
  for (const auto& resource : messages({logs.protobuf.data(), logs.protobuf.size()}, 1))
    for (const auto& scope : messages(resource, 2))
      for (const auto& record : messages(scope, 2)) all.push_back(record);
  return all;
}

// The AnyValue of this name.
pbf_reader attribute(pbf_reader record, const std::string& name) {
  for (pbf_reader pair : messages(record, 6)) {
    pbf_reader key = pair;
    if (key.next(1) && key.get_string() == name && pair.next(2)) return pair.get_message();
  }
  ADD_FAILURE() << "no attribute " << name;
  return {};
}

TEST(OtlpLogsTest, ABurstAndAnArrayAreTyped) {
  PutEvent put = event(7);
  put.value = Value{{Element(std::int64_t{-3}), Element(0.5), Element(std::string("x"))}, true};
  const std::vector<Entry> entries{
      {shared(put), 23, Burst{.least = Element(std::int64_t{-5}), .most = Element(2.5)}}};
  const OtlpLogs logs = otlp_logs(entries, {"host", "1"});
  EXPECT_EQ(logs.entries, 1u);
  ASSERT_EQ(records(logs).size(), 1u);
  const pbf_reader record = records(logs).front();
  pbf_reader burst = attribute(record, "epics.burst"), least = attribute(record, "epics.min"),
             most = attribute(record, "epics.max");
  ASSERT_TRUE(burst.next(3) && least.next(3) && most.next(4));
  EXPECT_EQ(burst.get_int64(), 23);
  EXPECT_EQ(least.get_int64(), -5);
  EXPECT_EQ(most.get_double(), 2.5);
  pbf_reader value = attribute(record, "epics.value");
  ASSERT_TRUE(value.next(5));
  auto elements = messages(value.get_message(), 1);
  ASSERT_EQ(elements.size(), 3u);
  ASSERT_TRUE(elements[0].next(3) && elements[1].next(4) && elements[2].next(1));
  EXPECT_EQ(elements[0].get_int64(), -3);
  EXPECT_EQ(elements[1].get_double(), 0.5);
  EXPECT_EQ(elements[2].get_string(), "x");
}

TEST(OtlpLogsTest, AnEmptyArrayIsOneAndABodyIsEscapedOnce) {
  PutEvent put = event(7);
  put.old = Value{{}, true};
  put.value = Value{{Element(std::string("\xff\xfe"))}, false};
  const std::vector<Entry> entries{{shared(put)}};
  const OtlpLogs logs = otlp_logs(entries, {"host", "1"});
  pbf_reader record = records(logs).at(0);
  pbf_reader old = attribute(record, "epics.old");
  ASSERT_TRUE(old.next(5));
  EXPECT_EQ(old.get_view().size(), 0u);
  ASSERT_TRUE(record.next(5));
  pbf_reader body = record.get_message();
  ASSERT_TRUE(body.next(1));
  EXPECT_EQ(body.get_string(), R"(SR:I: [] -> "\\xFF\\xFE" by ada)");
}

// A proxy's redirection is repaired by who runs it: the puts wait.
TEST(OtlpLogsTest, ARedirectionRefusesNothingForGood) {
  AnsweringServer server({http_answer(302, "", "Location: http://127.0.0.1:1/\r\n")});
  OtlpSink sink({server.url()}, {"host", "1"});
  const auto done = sink.deliver(std::vector<Entry>(4, {shared(event(1))}));
  EXPECT_EQ(done.refused, 0u);
  EXPECT_EQ(done.entries, 0u);
  EXPECT_TRUE(done.problem);
}

TEST(OtlpLogsTest, AnIocStandsOnceInARequestAndARequestHasABound) {
  std::vector<Entry> entries;
  for (std::uint64_t i = 0; i < 40; ++i) {
    PutEvent put = event(i, "A", std::string(60'000, 'x'));
    put.ioc = i % 2 == 0 ? "ps" : "";
    entries.push_back({shared(std::move(put))});
  }
  const OtlpLogs logs = otlp_logs(entries, {"host", "1"});
  EXPECT_GT(logs.entries, 2u);
  EXPECT_LT(logs.entries, 40u);
  EXPECT_LT(logs.protobuf.size(), 1u << 20);
  EXPECT_EQ(records(logs).size(), logs.entries);
  EXPECT_EQ(messages({logs.protobuf.data(), logs.protobuf.size()}, 1).size(), 2u);
}

// ExportLogsServiceResponse{partial_success{rejected_log_records: 3, error_message: "odd"}}
TEST(OtlpLogsTest, RecordsThatAreRefusedAreCounted) {
  AnsweringServer server({http_answer(200, "\x0a\x07\x08\x03\x12\x03odd",
                                      "Content-Type: application/x-protobuf\r\n")});
  OtlpSink sink({server.url()}, {"host", "1"});
  const auto done = sink.deliver(std::vector<Entry>(4, {shared(event(1))}));
  EXPECT_TRUE(server.requests().at(0).starts_with("POST /v1/logs HTTP/1.0\r\n"));
  EXPECT_EQ(done.entries, 1u);
  EXPECT_EQ(done.refused, 3u);
  EXPECT_NE(done.problem->message().find("3 log records were refused: odd"), std::string::npos);
}

// As Loki tells of its limits: google.rpc.Status{code: 3, message: "why"}, said to be bytes.
TEST(OtlpLogsTest, WordsOfAStatusAreTold) {
  AnsweringServer server(
      {http_answer(429, "\x08\x03\x12\x03why", "Content-Type: application/octet-stream\r\n")});
  OtlpSink sink({server.url()}, {"host", "1"});
  const auto done = sink.deliver(std::vector<Entry>(4, {shared(event(1))}));
  EXPECT_EQ(done.refused, 0u);
  EXPECT_TRUE(done.problem->message().ends_with("status 429: why")) << done.problem->message();
}

}  // namespace
}  // namespace ioc_exporter::putlog
