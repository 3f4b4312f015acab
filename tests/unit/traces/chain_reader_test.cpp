// From the kernel's events to traces, whole or cut.
#include "traces/chain_reader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "support/value_of.h"

namespace ioc_exporter::traces {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kOwner = 812ull << 32 | 813, kCallback = 812ull << 32 | 814;

class ChainReaderTest : public ::testing::Test, protected TraceDirectory {
 protected:
  ChainReaderTest() {
    auto database = std::make_shared<Database>();
    database->types = {"ao", "calcout"};
    for (std::uint64_t i = 1; i < 10; ++i)
      database->records.push_back({i, "R:" + std::to_string(i), i == 2 ? 1u : 0u});
    ioc_ = {"power", 812, database};
  }
  const Ioc* ioc(std::uint32_t slot, std::uint32_t generation) const override {
    return slot == 3 && generation == 7 ? &ioc_ : nullptr;
  }
  std::optional<std::uint64_t> put_end(const iocx_trace_put& put) override {
    const auto end = put_ends.find(put.time);
    return end == put_ends.end() ? std::nullopt : std::optional(end->second);
  }
  bool name_put(const iocx_trace_put& put, Cause& cause) override {
    cause.op = put.op == 0 ? "write" : "write_notify";
    if (!knows_puts_) return false;
    cause.pv = put.id == 0x80 ? "R:3" : "R:1.VAL";
    cause.user = "ada";
    return true;
  }

  std::string link_name(std::uint32_t generation, std::uint64_t channel) override {
    return generation == 7 && channel == 0x70 ? "OTHER:IN" : "";
  }

  static iocx_trace_chain head(std::uint64_t id, std::uint64_t start, std::uint64_t now) {
    iocx_trace_chain chain{};
    chain.kind = IOCX_TRACE_CHAIN;
    chain.slot = 3;
    chain.generation = 7;
    chain.id = id;
    chain.owner = kOwner;
    chain.start_ns = start;
    chain.now_ns = now;
    chain.cause = IOCX_CAUSE_CA;
    chain.why = IOCX_TRACE_RATE;
    chain.last = 1;
    std::strncpy(chain.comm, "CAS-client", sizeof chain.comm - 1);
    return chain;
  }
  static iocx_trace_span span(std::uint64_t record, std::uint16_t number, std::uint16_t parent,
                              std::uint64_t start, std::uint64_t end, std::uint8_t flags = 0) {
    return {record, start, end, 0, number, parent, 0, 0, flags};
  }
  bool give(iocx_trace_chain head, const std::vector<iocx_trace_span>& spans = {}) {
    head.spans = static_cast<std::uint16_t>(spans.size());
    std::vector<std::byte> raw(sizeof head + spans.size() * sizeof spans[0]);
    std::memcpy(raw.data(), &head, sizeof head);
    if (!spans.empty())
      std::memcpy(raw.data() + sizeof head, spans.data(), spans.size() * sizeof spans[0]);
    return reader_.take(raw);
  }
  // Of one that it waits for, and that processes R:1.
  bool give_put_with_callback(std::uint64_t id) {
    auto chain = head(id, 10 * kMs, 20 * kMs);
    chain.put.time = 9 * kMs;
    chain.put.op = 1;
    chain.put.waits = 1;
    return give(chain, {span(1, 1, 0, 10 * kMs, 20 * kMs)});
  }
  bool give(iocx_trace_kind kind, std::uint64_t id, std::uint64_t parent, std::uint16_t number,
            std::uint64_t now) {
    iocx_trace_chain event = head(id, 0, now);
    event.kind = kind;
    event.parent_id = parent;
    event.parent_span = number;
    event.owner = kCallback;
    std::strncpy(event.comm, "cbLow", sizeof event.comm);
    return give(event);
  }
  // At that moment, by a wall clock that is 1,000 s ahead.
  std::vector<Trace> finish(std::uint64_t now, bool last = false) {
    const auto ns = static_cast<std::int64_t>(now);
    return reader_.finish({ns, ns + 1'000'000'000'000}, last);
  }
  static Time at(std::uint64_t ns) {
    return Time(Duration(static_cast<std::int64_t>(ns) + 1'000'000'000'000));
  }

  Ioc ioc_;
  std::map<std::uint64_t, std::uint64_t> put_ends;  // by the put's time
  bool knows_puts_ = true;
  ChainReader reader_{*this, 42};
};

TEST_F(ChainReaderTest, SpansGetNamesTimesAndTheirOwnTime) {
  auto outer = span(1, 1, 0, 10 * kMs, 20 * kMs);
  outer.child_ns = 4 * kMs;
  auto inner = span(0x99, 2, 1, 12 * kMs, 16 * kMs);
  inner.severity = 2;
  inner.status = 3;
  ASSERT_TRUE(give(head(5, 10 * kMs, 20 * kMs), {inner, outer}));
  const Trace& trace = only(finish(30 * kMs));
  EXPECT_EQ(trace.ioc, "power");
  EXPECT_EQ(trace.pid, 812);
  EXPECT_EQ(trace.tid, 813);
  EXPECT_EQ(trace.thread, "CAS-client");
  EXPECT_EQ(trace.cause.kind, "ca");
  EXPECT_FALSE(trace.cut);
  ASSERT_EQ(trace.spans.size(), 2u);
  EXPECT_EQ(trace.spans[0].name, "R:1");
  EXPECT_EQ(trace.spans[0].record_type, "ao");
  EXPECT_EQ(trace.spans[0].start, at(10 * kMs));
  EXPECT_EQ(trace.spans[0].duration, std::chrono::milliseconds(10));
  EXPECT_EQ(trace.spans[0].self, std::chrono::milliseconds(6));
  EXPECT_EQ(trace.spans[1].name, "0x0000000000000099");
  EXPECT_EQ(trace.spans[1].parent, trace.spans[0].id);
  EXPECT_EQ(trace.spans[1].alarm, "MAJOR");
  EXPECT_EQ(trace.spans[1].status, "HIHI");
  EXPECT_TRUE(reader_.is_idle());
}

TEST_F(ChainReaderTest, ThePutIsTheRoot) {
  auto chain = head(5, 10 * kMs, 20 * kMs);
  chain.put.time = 9 * kMs;
  chain.put.op = 1;
  knows_puts_ = false;
  ASSERT_TRUE(give(chain, {span(1, 1, 0, 10 * kMs, 20 * kMs)}));
  EXPECT_TRUE(finish(30 * kMs).empty());
  EXPECT_FALSE(reader_.is_idle());
  knows_puts_ = true;
  const auto traces = finish(40 * kMs);
  ASSERT_EQ(traces.size(), 1u);
  ASSERT_EQ(traces[0].spans.size(), 2u);
  EXPECT_EQ(traces[0].cause.user, "ada");
  EXPECT_EQ(traces[0].cause.op, "write_notify");
  const Span& put = traces[0].spans[0];
  EXPECT_EQ(put.kind, SpanKind::put);
  EXPECT_EQ(put.name, "R:1.VAL");
  EXPECT_EQ(put.start, at(9 * kMs));
  EXPECT_EQ(put.duration, std::chrono::milliseconds(11));
  EXPECT_EQ(traces[0].spans[1].parent, put.id);

  knows_puts_ = false;  // nobody waits for a name for ever
  chain.id = 6;
  ASSERT_TRUE(give(chain, {span(1, 1, 0, 10 * kMs, 20 * kMs)}));
  EXPECT_EQ(finish(20 * kMs + 1000 * kMs).size(), 1u);
}

TEST_F(ChainReaderTest, APutWithCallbackLastsUntilItIsDone) {
  ASSERT_TRUE(give_put_with_callback(5));
  EXPECT_TRUE(finish(60'000 * kMs).empty()) << "a motor moves";
  put_ends[9 * kMs] = 61'000 * kMs;
  EXPECT_TRUE(finish(61'000 * kMs + 1).empty()) << "chains of its completion may be on their way";
  const Trace& trace = only(finish(63'000 * kMs));
  EXPECT_FALSE(trace.cut);
  EXPECT_EQ(trace.spans[0].duration, std::chrono::milliseconds(61'000 - 9));
  EXPECT_EQ(trace.spans[1].duration, std::chrono::milliseconds(10));
}

TEST_F(ChainReaderTest, APutWithCallbackIsCutWhenNobodyAnswersIt) {
  ASSERT_TRUE(give_put_with_callback(5));
  EXPECT_TRUE(finish(599'000 * kMs).empty());
  const auto late = finish(601'000 * kMs);
  EXPECT_TRUE(only(late).cut);
  EXPECT_TRUE(only(late).spans[0].cut);
  EXPECT_EQ(only(late).spans[0].duration, std::chrono::milliseconds(11)) << "as far as it was seen";

  ASSERT_TRUE(give_put_with_callback(6));
  ioc_.runs = false;  // the IOC has ended
  EXPECT_TRUE(only(finish(30 * kMs)).spans[0].cut);
}

TEST_F(ChainReaderTest, PartsAreOneChain) {
  auto first = head(5, 10 * kMs, 15 * kMs), second = head(5, 10 * kMs, 20 * kMs);
  first.last = 0;
  second.part = 1;
  ASSERT_TRUE(give(first, {span(2, 2, 1, 11 * kMs, 12 * kMs), span(3, 3, 1, 13 * kMs, 14 * kMs)}));
  EXPECT_TRUE(finish(16 * kMs).empty());
  ASSERT_TRUE(give(second, {span(1, 1, 0, 10 * kMs, 20 * kMs)}));
  auto traces = finish(21 * kMs);
  EXPECT_EQ(only(traces).spans.size(), 3u);
  EXPECT_FALSE(only(traces).cut);

  second.id = 6;  // the first part had no room
  ASSERT_TRUE(give(second, {span(1, 1, 0, 10 * kMs, 20 * kMs)}));
  traces = finish(21 * kMs);
  EXPECT_TRUE(only(traces).cut);
}

TEST_F(ChainReaderTest, PartsThatHaveToGoAreCounted) {
  const std::vector spans(IOCX_TRACE_SPANS, span(2, 2, 1, 11 * kMs, 12 * kMs));
  for (std::uint64_t id = 1; id <= ChainReader::kMostSpans / IOCX_TRACE_SPANS + 1; ++id) {
    auto first = head(id, 10 * kMs, 15 * kMs);
    first.last = 0;
    ASSERT_TRUE(give(first, spans));
  }
  EXPECT_TRUE(finish(16 * kMs).empty());
  EXPECT_EQ(reader_.counts().crowded, 1u);
}

TEST_F(ChainReaderTest, ACompletionIsJoinedWithItsChain) {
  ASSERT_TRUE(give(head(5, 10 * kMs, 20 * kMs),
                   {span(2, 2, 1, 12 * kMs, 14 * kMs, IOCX_TRACE_SPAN_ASYNCHRONOUS),
                    span(1, 1, 0, 10 * kMs, 20 * kMs)}));
  EXPECT_TRUE(finish(500 * kMs).empty());
  ASSERT_TRUE(give(IOCX_TRACE_COMPLETION, 5, 0, 2, 512 * kMs));
  ASSERT_TRUE(give(IOCX_TRACE_GOES_ON, 6, 5, 2, 513 * kMs));
  EXPECT_TRUE(finish(900 * kMs).empty()) << "it has begun";
  auto more = head(6, 513 * kMs, 950 * kMs);
  more.parent_id = 5;
  more.parent_span = 2;
  more.owner = kCallback;
  more.why = IOCX_TRACE_CONTINUED;
  std::strncpy(more.comm, "cbLow", sizeof more.comm);
  ASSERT_TRUE(give(more, {span(3, 1, 0, 513 * kMs, 950 * kMs)}));
  const Trace& trace = only(finish(960 * kMs));
  EXPECT_FALSE(trace.cut);
  ASSERT_EQ(trace.spans.size(), 3u);
  EXPECT_EQ(trace.spans[1].until_return, std::chrono::milliseconds(2));
  EXPECT_EQ(trace.spans[1].duration, std::chrono::milliseconds(500));
  EXPECT_EQ(trace.spans[1].thread, "cbLow");
  EXPECT_EQ(trace.spans[2].name, "R:3");
  EXPECT_EQ(trace.spans[2].parent, trace.spans[1].id);
  EXPECT_EQ(trace.spans[2].thread, "cbLow");
}

TEST_F(ChainReaderTest, ACompletionIsNotWaitedForForEver) {
  ASSERT_TRUE(give(head(5, 10 * kMs, 20 * kMs),
                   {span(1, 1, 0, 10 * kMs, 20 * kMs, IOCX_TRACE_SPAN_ASYNCHRONOUS)}));
  EXPECT_TRUE(finish(10'000 * kMs).empty());
  const auto traces = finish(10'020 * kMs);
  ASSERT_EQ(traces.size(), 1u);
  EXPECT_TRUE(traces[0].cut);
  EXPECT_TRUE(traces[0].spans[0].cut);
  EXPECT_EQ(traces[0].spans[0].until_return, std::chrono::milliseconds(10));
  ASSERT_TRUE(give(IOCX_TRACE_COMPLETION, 5, 0, 1, 10'030 * kMs));
  EXPECT_TRUE(finish(20'000 * kMs, true).empty());
}

TEST_F(ChainReaderTest, InvalidEventsAreCounted) {
  auto stranger = head(5, 10 * kMs, 20 * kMs);
  stranger.generation = 8;
  ASSERT_TRUE(give(stranger, {span(1, 1, 0, 10 * kMs, 20 * kMs)}));
  EXPECT_TRUE(finish(30 * kMs).empty());
  EXPECT_EQ(reader_.counts().unknown_ioc, 1u);
  auto lying = head(6, 10 * kMs, 20 * kMs);
  lying.spans = 3;
  std::vector<std::byte> raw(sizeof lying + sizeof(iocx_trace_span));
  std::memcpy(raw.data(), &lying, sizeof lying);
  EXPECT_FALSE(reader_.take(raw));
  EXPECT_FALSE(reader_.take(std::span(raw).first(17)));
  EXPECT_EQ(reader_.counts().malformed, 2u);
  // Its parent is missing.
  ASSERT_TRUE(give(head(7, 10 * kMs, 20 * kMs),
                   {span(2, 3, 2, 12 * kMs, 13 * kMs), span(1, 1, 0, 10 * kMs, 20 * kMs)}));
  const auto traces = finish(30 * kMs);
  ASSERT_EQ(traces.size(), 1u);
  EXPECT_TRUE(traces[0].cut);
  EXPECT_EQ(traces[0].spans[1].parent, traces[0].spans[0].id);
}

TEST_F(ChainReaderTest, APutThroughALinkNamesItsPv) {
  const std::uint8_t off = IOCX_TRACE_SPAN_LINK | IOCX_TRACE_SPAN_NOT_SENT;
  ASSERT_TRUE(give(head(5, 10 * kMs, 20 * kMs),
                   {span(0x70, 2, 1, 15 * kMs, 15 * kMs, IOCX_TRACE_SPAN_LINK),
                    span(0x71, 3, 1, 16 * kMs, 16 * kMs, off), span(1, 1, 0, 10 * kMs, 20 * kMs)}));
  const auto traces = finish(80 * kMs);
  const auto& spans = only(traces).spans;
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[1].kind, SpanKind::link_put);
  EXPECT_EQ(spans[1].name, "OTHER:IN");
  EXPECT_EQ(spans[1].parent, spans[0].id);
  EXPECT_EQ(spans[1].skipped, "");
  EXPECT_EQ(spans[2].name, "0x0000000000000071") << "its name is not known any more";
  EXPECT_EQ(spans[2].skipped, "disconnected");
  EXPECT_FALSE(traces[0].cut);
}

// By the sequencer, whose put the server probe has noted; then by device support of its record.
TEST_F(ChainReaderTest, PutsInsideTheIocAreAboveWhatTheyProcess) {
  auto chain = head(5, 10 * kMs, 20 * kMs);
  chain.put.time = 9 * kMs;
  chain.put.id = 0x81;
  chain.put.sid = IOCX_INSIDE_SID;
  auto inside = span(0x80, 2, 1, 12 * kMs, 12 * kMs, IOCX_TRACE_SPAN_PUT);
  inside.child_ns = 3 | 7ull << 32;
  ASSERT_TRUE(
      give(chain, {inside, span(3, 3, 2, 13 * kMs, 17 * kMs), span(1, 1, 0, 10 * kMs, 20 * kMs)}));
  const auto traces = finish(80 * kMs);
  const auto& spans = only(traces).spans;
  ASSERT_EQ(spans.size(), 4u);
  EXPECT_EQ(spans[0].kind, SpanKind::inside_put);
  EXPECT_EQ(spans[0].name, "R:1.VAL");
  EXPECT_EQ(spans[0].duration, std::chrono::milliseconds(11));
  EXPECT_EQ(spans[1].parent, spans[0].id);
  EXPECT_EQ(spans[2].kind, SpanKind::inside_put);
  EXPECT_EQ(spans[2].name, "R:3");
  EXPECT_EQ(spans[2].parent, spans[1].id);
  EXPECT_EQ(spans[2].duration, std::chrono::milliseconds(5));
  EXPECT_EQ(spans[2].self, std::chrono::milliseconds(0));
  EXPECT_EQ(spans[3].parent, spans[2].id);
  EXPECT_FALSE(traces[0].cut);
}

}  // namespace
}  // namespace ioc_exporter::traces
