// Sinks that send by HTTP: Loki and OTLP.

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <protozero/pbf_reader.hpp>

#include "events.h"
#include "putlog/loki_sink.h"
#include "putlog/otlp_sink.h"
#include "support/answering_server.h"

namespace ioc_exporter::putlog {
namespace {

using protozero::pbf_reader;

// Loki's HTTP API, written from its description (POST /loki/api/v1/push): there is no Loki here.

std::vector<Entry> entries(std::uint64_t first, std::uint64_t count) {
  std::vector<Entry> all;
  for (PutEvent& one : events(first, count)) all.push_back({shared(std::move(one))});
  return all;
}

// Answers one request with that status.
class Loki {
 public:
  explicit Loki(int status) : server_({http_answer(status, "why")}) {}

  Sink::Delivered deliver(std::size_t count, bool metadata = true) const {
    delivery::HttpReceiver receiver{server_.url(), {"ada:secret", {}}, {{"X-Scope-OrgID", "site"}}};
    return LokiSink(std::move(receiver), metadata).deliver(entries(1, count));
  }
  const std::string& request() { return server_.requests().at(0); }

 private:
  AnsweringServer server_;
};

TEST(LokiSinkTest, PushesAStreamForEachIoc) {
  std::vector<Entry> two = entries(1, 2);
  PutEvent other = event(3);
  other.ioc = "vac\"";
  two.push_back({shared(other)});
  const LokiPush push = loki_push(two, true);
  EXPECT_EQ(push.entries, 3u);
  const auto streams = nlohmann::json::parse(push.body).at("streams");
  ASSERT_EQ(streams.size(), 2u);
  EXPECT_EQ(streams[0].at("stream"), (nlohmann::json{{"job", "ioc_exporter"}, {"ioc", "ps"}}));
  EXPECT_EQ(streams[1].at("stream").at("ioc"), "vac\"");
  const auto& value = streams[0].at("values").at(0);
  EXPECT_EQ(value.at(0), std::to_string(event(1).time.time_since_epoch().count()));
  EXPECT_EQ(nlohmann::json::parse(value.at(1).get<std::string>()).at("seq"), 1);
  EXPECT_EQ(value.at(2),
            (nlohmann::json{{"pv", "SR:I"}, {"user", "ada"}, {"client", "10.0.0.7:4711"}}));
  EXPECT_EQ(nlohmann::json::parse(loki_push(two, false).body)["streams"][0]["values"][0].size(),
            2u);
}

TEST(LokiSinkTest, APushHasABound) {
  std::vector<Entry> large;
  PutEvent one = event(1);
  one.value = Value{std::vector<Element>(10'000, 0.5), true};
  for (int i = 0; i < 100; ++i) large.push_back({shared(one)});
  const LokiPush push = loki_push(large, true);
  EXPECT_LT(push.body.size(), 1u << 20);
  EXPECT_GT(push.entries, 1u);
  EXPECT_LT(push.entries, 100u);
}

TEST(LokiSinkTest, AcknowledgedLinesAreDelivered) {
  Loki loki(204);
  const auto done = loki.deliver(23);
  EXPECT_EQ(done.entries, 23u);
  EXPECT_FALSE(done.problem);
  const std::string& request = loki.request();
  EXPECT_TRUE(request.starts_with("POST /loki/api/v1/push HTTP/1.1\r\n")) << request;
  for (const char* header :
       {"\r\nX-Scope-OrgID: site\r\n", "\r\nContent-Type: application/json\r\n",
        "\r\nAuthorization: Basic YWRhOnNlY3JldA==\r\n"})
    EXPECT_NE(request.find(header), std::string::npos) << header;
  EXPECT_TRUE(nlohmann::json::accept(request.substr(request.find("\r\n\r\n") + 4)));
}

TEST(LokiSinkTest, TemporaryFailuresAreRetriedAndOthersRefused) {
  for (const auto& [status, refused] :
       {std::pair{500, 0u}, {429, 0u}, {401, 0u}, {400, 23u}, {413, 23u}}) {
    const Loki loki(status);
    const auto done = loki.deliver(23);
    EXPECT_EQ(done.entries, 0u);
    EXPECT_EQ(done.refused, refused) << status;
    ASSERT_TRUE(done.problem);
    EXPECT_THAT(done.problem->message(),
                testing::HasSubstr("status " + std::to_string(status) + ": why"));
  }
}

// Puts as log records. That they say what lines do is tested with the protocol's own code (e2e).

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

// A proxy's redirection is repaired by its operator: the puts wait.
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
  EXPECT_TRUE(server.requests().at(0).starts_with("POST /v1/logs HTTP/1.1\r\n"));
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
