// Traces as JSON, and what their sinks send.

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "example_traces.h"
#include "support/answering_server.h"
#include "support/value_of.h"
#include "traces/json.h"
#include "traces/otlp_sink.h"
#include "traces/zipkin_sink.h"

namespace ioc_exporter::traces {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

// A put that makes a record process, which puts through a link.
Trace put_trace() {
  Trace trace;
  trace.id = {0xab, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  trace.ioc = "linac";
  trace.pid = 812;
  trace.thread = "CAS-client";
  trace.tid = 815;
  trace.cause = {.kind = "ca",
                 .client = "10.0.0.7:40112",
                 .user = "ada",
                 .pv = "MAG:1:SET",
                 .op = "write",
                 .value = putlog::Value{{1.5}, false},
                 .seq = 77};
  trace.why = {"rate", "slower"};
  const Time start{nanoseconds(1'780'000'000'123'456'789)};
  trace.spans.push_back(
      {.kind = SpanKind::put, .id = 1, .name = "MAG:1:SET", .start = start, .duration = 900us});
  trace.spans.push_back({.id = 2,
                         .parent = 1,
                         .name = "MAG:1:SET",
                         .record_type = "ao",
                         .start = start + 10us,
                         .duration = 300ns,
                         .self = 200ns,
                         .until_return = 250ns,
                         .alarm = "INVALID",
                         .status = "WRITE",
                         .thread = "cbLow"});
  trace.spans.push_back({.kind = SpanKind::link_put,
                         .id = 0xfedcba9876543210,
                         .parent = 2,
                         .name = "OTHER:X",
                         .start = start + 10us + 211ns,
                         .duration = 1ns});
  return trace;
}

// With all that a trace may have.
Trace with_everything() {
  Trace trace = put_trace();
  trace.parent = 0xfedcba9876543210;
  trace.cause.client_host = "console";
  trace.cause.value = putlog::Value{{1.5, std::int64_t{2}, std::string("three")}, true};
  trace.cut = true;
  trace.spans[2].skipped = "disconnected";
  trace.spans.push_back({.id = 3,
                         .parent = 2,
                         .name = "MAG:1:RB",
                         .record_type = "ai",
                         .start = trace.spans[1].start + 20us,
                         .skipped = "active",
                         .cut = true});
  return trace;
}

TEST(TraceJson, IsReadBackAsItWas) {
  const Trace trace = with_everything();
  EXPECT_EQ(value_of(trace_from_json(to_json(trace))), trace);
}

TEST(TraceJson, OmitsUnknownValues) {
  Trace trace;
  trace.id = {1};
  trace.ioc = "linac";
  trace.pid = 8;
  trace.tid = 9;
  trace.cause.kind = "scan";
  trace.spans.push_back({.id = 0x10,
                         .name = "A",
                         .start = Time(std::chrono::seconds(1)),
                         .duration = Duration(7),
                         .self = Duration(7)});
  EXPECT_EQ(
      to_json(trace),
      R"({"time":"1970-01-01T00:00:01.000000000Z","trace_id":"01000000000000000000000000000000",)"
      R"("ioc":"linac","pid":8,"tid":9,"cause":{"kind":"scan"},"why":[],)"
      R"("spans":[{"span_id":"0000000000000010","kind":"process","name":"A","offset_ns":0,)"
      R"("duration_ns":7,"self_ns":7}]})");
}

TEST(TraceJson, InvalidTextsAreErrors) {
  const std::string good = to_json(with_everything());
  const auto with = [&](const std::string& before, const std::string& after) {
    std::string bad = good;
    const auto at = bad.find(before);
    EXPECT_NE(at, std::string::npos) << before;
    return bad.replace(at, before.size(), after);
  };
  for (const std::string& bad :
       {std::string(), std::string("[]"), good.substr(0, good.size() / 2),
        with("\"kind\":\"put\"", "\"kind\":\"kick\""), with("ab0102", "ab01"),
        with("ab0102", "zz0102"), with("0000000000000002", "2"),
        with("\"time\":\"2", "\"time\":\"x"), with("\"offset_ns\":0", "\"offset_ns\":\"0\""),
        with("\"offset_ns\"", "\"offset\"")})
    EXPECT_FALSE(trace_from_json(bad)) << bad;
}

// Spans as Zipkin's description of its JSON has them, and what servers answer. What is sent is read
// by a real Zipkin, and by OpenTelemetry's own reader, in tests/e2e/test_trace_outlets.py.

TEST(ZipkinSinkTest, ASpanHasItsTags) {
  const SharedTrace trace = shared(put_trace());
  const ZipkinBody body = zipkin_body(std::vector{trace}, SpanNames::record);
  EXPECT_EQ(body.traces, 1u);
  EXPECT_EQ(nlohmann::json::parse(body.json), nlohmann::json::parse(R"([
    {"traceId": "ab0102030405060708090a0b0c0d0e0f", "id": "0000000000000001", "kind": "SERVER",
     "name": "MAG:1:SET", "timestamp": 1780000000123456, "duration": 900,
     "localEndpoint": {"serviceName": "linac"},
     "remoteEndpoint": {"ipv4": "10.0.0.7", "port": 40112},
     "tags": {"epics.span": "put", "epics.pv": "MAG:1:SET", "epics.cause": "ca",
              "epics.client": "10.0.0.7:40112", "epics.user": "ada", "epics.op": "write",
              "epics.value": "1.5", "epics.put_seq": "77", "epics.thread": "CAS-client",
              "epics.tid": "815", "epics.why": "rate,slower"}},
    {"traceId": "ab0102030405060708090a0b0c0d0e0f", "id": "0000000000000002",
     "parentId": "0000000000000001", "name": "MAG:1:SET", "timestamp": 1780000000123466,
     "duration": 1, "localEndpoint": {"serviceName": "linac"},
     "tags": {"epics.span": "process", "epics.record": "MAG:1:SET", "epics.record_type": "ao",
              "epics.self_ns": "200", "epics.until_return_ns": "250", "epics.alarm": "INVALID",
              "epics.status": "WRITE", "epics.completed_by": "cbLow", "error": "INVALID WRITE"}},
    {"traceId": "ab0102030405060708090a0b0c0d0e0f", "id": "fedcba9876543210",
     "parentId": "0000000000000002", "kind": "CLIENT", "name": "OTHER:X",
     "timestamp": 1780000000123467, "duration": 1, "localEndpoint": {"serviceName": "linac"},
     "tags": {"epics.span": "link_put", "epics.pv": "OTHER:X"}}
  ])"));
}

TEST(ZipkinSinkTest, NamesMayBeFew) {
  const SharedTrace trace = shared(put_trace());
  std::vector<std::string> names;
  for (const auto& span :
       nlohmann::json::parse(zipkin_body(std::vector{trace}, SpanNames::type).json))
    names.push_back(span.at("name"));
  EXPECT_EQ(names, (std::vector<std::string>{"write", "ao", "link_put"}));
}

// Bounds of one request, and of one trace.
TEST(TraceSinks, ARequestHasABound) {
  Trace large = put_trace();
  large.spans.resize(500, large.spans[1]);
  for (Span& span : large.spans) span.name.assign(60, 'x');
  const std::vector<SharedTrace> many(40, shared(large));
  const ZipkinBody zipkin = zipkin_body(many, SpanNames::record);
  EXPECT_LT(zipkin.json.size(), 1u << 20);
  EXPECT_LT(otlp_body(many, SpanNames::record, {"host", "1"}).protobuf.size(), 1u << 20);
  EXPECT_GT(zipkin.traces, 0u);
  EXPECT_LT(zipkin.traces, 40u);
  large.spans.resize(5000, large.spans[1]);
  EXPECT_EQ(zipkin_body(std::vector{shared(large)}, SpanNames::record).traces, 1u);
  EXPECT_EQ(otlp_body(std::vector{shared(large)}, SpanNames::record, {"host", "1"}).traces, 1u);
}

// Of four traces.
delivery::Delivered otlp_delivered(const std::string& answer, std::string* request = nullptr) {
  AnsweringServer server({answer});
  Receiver receiver;
  receiver.http.url = server.url() + "/v1/traces";
  OtlpSink sink(receiver, {"host", "1"});
  auto done = sink.deliver(std::vector<SharedTrace>(4, shared(put_trace())));
  if (request != nullptr) *request = server.requests().at(0);
  return done;
}

constexpr const char* kProtobuf = "Content-Type: application/x-protobuf\r\n";

// Whose URL may have the path. Headers: putlog/loki_sink_test.cpp.
TEST(OtlpSinkTest, AcknowledgedLinesAreDelivered) {
  std::string request;
  const auto done = otlp_delivered(http_answer(200), &request);
  EXPECT_EQ(done.entries, 4u);
  EXPECT_FALSE(done.problem);
  EXPECT_TRUE(request.starts_with("POST /v1/traces HTTP/1.1\r\n")) << request;
}

// ExportTraceServiceResponse{partial_success{rejected_spans: 3, error_message: "odd"}}
TEST(OtlpSinkTest, SpansThatAreRefusedAreOfAsManyTracesAtMost) {
  const auto done = otlp_delivered(http_answer(200, "\x0a\x07\x08\x03\x12\x03odd", kProtobuf));
  EXPECT_EQ(done.entries, 1u);
  EXPECT_EQ(done.refused, 3u);
  EXPECT_EQ(done.pause, std::chrono::milliseconds(0));
  EXPECT_NE(done.problem->message().find("3 spans were refused: odd"), std::string::npos);
  const auto many = otlp_delivered(http_answer(200, "\x0a\x07\x08\x63\x12\x03odd", kProtobuf));
  EXPECT_EQ(many.entries, 0u);
  EXPECT_EQ(many.refused, 4u);
}

TEST(OtlpSinkTest, AnAnswerThatMakesNoSenseIsOneAllTheSame) {
  for (const char* body : {"\x0a\x7f\x08", "\x0a\x02\x08\x80", "\xff\xff\xff"}) {
    const auto done = otlp_delivered(http_answer(200, body, kProtobuf));
    EXPECT_EQ(done.entries, 4u);
    EXPECT_FALSE(done.problem);
  }
}

TEST(OtlpSinkTest, TemporaryFailuresAreRetriedAndOthersRefused) {
  for (const auto& [status, refused] : {std::pair{302, 0u},
                                        {429, 0u},
                                        {502, 0u},
                                        {503, 0u},
                                        {504, 0u},
                                        {401, 0u},
                                        {400, 4u},
                                        {404, 4u},
                                        {500, 4u}}) {
    // google.rpc.Status{code: 3, message: "why"}
    const auto done = otlp_delivered(
        http_answer(status, "\x08\x03\x12\x03why", std::string(kProtobuf) + "Retry-After: 5\r\n"));
    EXPECT_EQ(done.refused, refused) << status;
    EXPECT_EQ(done.entries, 0u);
    EXPECT_EQ(done.pause.has_value(), refused == 0) << status;
    EXPECT_THAT(done.problem->message(),
                testing::HasSubstr("status " + std::to_string(status) + ": why"));
  }
}

TEST(TraceBatch, TracesWaitForEnoughSpansOrForAWhile) {
  const SharedTrace trace = shared(put_trace());  // of three spans
  const Batch::Clock::time_point start{};
  Batch batch(1s);
  std::vector<SharedTrace> out;
  EXPECT_FALSE(batch.next_due());
  batch.take(trace, start, out);
  batch.take(trace, start + 900ms, out);
  EXPECT_EQ(batch.next_due(), start + 1s);
  batch.end_due(start + 999ms, out);
  EXPECT_TRUE(out.empty());
  batch.end_due(start + 1s, out);
  EXPECT_EQ(out.size(), 2u);
  EXPECT_FALSE(batch.next_due());
  out.clear();
  while (out.empty()) batch.take(trace, start, out);
  EXPECT_EQ(out.size(), (Batch::kSpans + 2) / 3);
  batch.take(trace, start, out);
  batch.end_all(out);
  EXPECT_EQ(out.size(), (Batch::kSpans + 2) / 3 + 1);
  out.clear();
  Batch(0s).take(trace, start, out);
  EXPECT_EQ(out.size(), 1u);
}

}  // namespace
}  // namespace ioc_exporter::traces
