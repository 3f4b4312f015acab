// Chains of records as the kernel tells of them, on a process whose every call is known.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "base/wall_clock.h"
#include "fake_ioc.h"
#include "kernel/map.h"
#include "kernel/uprobe.h"
#include "support/value_of.h"
#include "traces/chain_reader.h"
#include "traces/event_maps.h"
#include "traces/selectors.h"

namespace ioc_exporter::traces {
namespace {

using test::FakeIoc;

constexpr int kRecords = 128;

// Whether probes are links (kernel/uprobe.h), or perf events.
using Links = bool;

// The loaded programs, for all tests of a mode: loading takes longer than most of them.
struct Loaded {
  TraceMaps maps;
  records::RecordProcess probe;
  Loaded(TraceMaps made, records::RecordProcess started)
      : maps(std::move(made)), probe(std::move(started)) {}
};

Options options_of_maps() {
  Options options;
  options.enabled = true;
  options.buffer_mib = 1;
  return options;
}

std::shared_ptr<Loaded> load(Links links) {
  static std::map<Links, std::shared_ptr<Loaded>> all;
  auto& loaded = all[links];
  if (loaded) return loaded;
  TraceMaps maps(options_of_maps());
  EXPECT_EQ(maps.problem(), "");
  records::RecordProcessOptions options;
  options.probe_links = links;
  options.traces = maps.use();
  auto started = records::RecordProcess::start(options);
  EXPECT_TRUE(started) << started.error().message();
  if (started) loaded = std::make_shared<Loaded>(std::move(maps), std::move(*started));
  return loaded;
}

// A line for each span: how deep it is, its record, and what became of it.
std::vector<std::string> lines(const Trace& trace) {
  std::map<SpanId, std::string> indents;
  std::vector<std::string> lines;
  for (const Span& span : trace.spans) {
    const auto parent = indents.find(span.parent);
    const std::string indent = parent == indents.end() ? "" : parent->second + "  ";
    indents[span.id] = indent;
    std::string line = indent + span.name;
    if (!span.skipped.empty()) line += " " + span.skipped;
    if (!span.alarm.empty()) line += " " + span.alarm;
    if (span.until_return) line += " asynchronous";
    if (span.cut) line += " cut";
    lines.push_back(line);
  }
  return lines;
}

using Lines = std::vector<std::string>;

class TracesTest : public ::testing::TestWithParam<Links>, protected TraceDirectory {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to load BPF programs";
    if (GetParam() && !kernel::uprobe_link_type())
      GTEST_SKIP() << "the kernel has no links of uprobes that count all threads (Linux 6.13)";
    loaded_ = load(GetParam());
    ASSERT_TRUE(loaded_);
    slot_ = value_of(loaded_->probe.watch(fake_.target(kRecords, true)));
    auto database = std::make_shared<Database>();
    database->types = {"fake"};
    for (int i = 0; i < kRecords; ++i)
      database->records.push_back({fake_.record(i), "FAKE:" + std::to_string(i), 0});
    ioc_ = {"fake", fake_.pid(), database};
    while (!traces().empty()) {
    }
    before_ = counts();
  }
  void TearDown() override {
    if (!loaded_) return;
    if (selectors_) {
      EXPECT_TRUE(selectors_->remove(slot_, generation()));
    }
    loaded_->probe.unwatch({slot_});
    EXPECT_TRUE(
        loaded_->probe.free_ended_threads([](std::int32_t, std::int32_t) { return false; }));
    EXPECT_EQ(reader_.counts().malformed, 0u);
  }
  void choose(const Options& options) {
    selectors_.emplace(options, loaded_->probe.object().maps().traces);
    must_succeed(selectors_->add(slot_, generation(), ioc_.name, ioc_.database,
                                 TraceSelectors::Clock::now()));
  }
  Result<std::size_t> ask(const Demand& demand, TraceSelectors::Clock::time_point now) {
    auto matches = TraceSelectors::match(demand, selectors_->places(),
                                         TraceSelectors::Clock::now() + std::chrono::minutes(1));
    return selectors_->ask(demand, std::move(*matches), now);
  }
  // None of the bucket, but those who are asked for.
  static Options none() {
    Options options;
    options.rate = 0;
    return options;
  }
  static Options all() {
    Options options;
    options.rate = 100'000;
    return options;
  }
  // Room in the first second, and then next to no chance.
  void choose_first(std::uint32_t at_once) {
    iocx_trace_config config{};
    config.generation = generation();
    config.causes = (1u << IOCX_CAUSES) - 1;
    config.interval_ns = 1ULL << 50;
    config.at_once = at_once;
    choose(none());
    ASSERT_TRUE(loaded_->probe.object().maps().traces.config.update(slot_, config));
  }
  // All that have come, and what waits is not waited for.
  std::vector<Trace> traces() {
    const auto read = loaded_->maps.ring()->read(SIZE_MAX, [this](auto event) {
      EXPECT_TRUE(reader_.take(event));
      loaded_->maps.note_read(event);
    });
    EXPECT_TRUE(read);
    return reader_.finish(WallClock::read(), true);
  }
  Trace only_trace() {
    auto all = traces();
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? Trace() : all.front();
  }
  std::uint32_t generation() const { return loaded_->probe.generation(slot_); }
  std::vector<std::uint64_t> counts() const {
    return value_of(kernel::sum_per_cpu_counters(loaded_->probe.object().maps().traces.counts,
                                                 IOCX_TRACE_COUNTS));
  }
  std::uint64_t counted(std::uint32_t what) const { return counts()[what] - before_[what]; }

  const Ioc* ioc(std::uint32_t slot, std::uint32_t generation) const override {
    return slot == slot_ && generation == this->generation() ? &ioc_ : nullptr;
  }
  bool name_put(const iocx_trace_put&, Cause&) override { return false; }
  std::optional<std::uint64_t> put_end(const iocx_trace_put&) override { return 0; }
  std::string link_name(std::uint32_t, std::uint64_t) override { return ""; }

  FakeIoc fake_;
  std::shared_ptr<Loaded> loaded_;
  std::uint32_t slot_ = 0;
  Ioc ioc_;
  std::optional<TraceSelectors> selectors_;
  ChainReader reader_{*this, 0x1234};
  std::vector<std::uint64_t> before_;
};

TEST_P(TracesTest, AChainIsATreeOfItsCalls) {
  fake_.ask({"set 0 link 1", "set 0 also 2", "set 1 link 3", "set 2 wait_us 2000"});
  choose(all());
  fake_.ask("call 0 1");
  const Trace trace = only_trace();
  EXPECT_EQ(lines(trace), (Lines{"FAKE:0", "  FAKE:1", "    FAKE:3", "  FAKE:2"}));
  EXPECT_EQ(trace.ioc, "fake");
  EXPECT_EQ(trace.pid, fake_.pid());
  EXPECT_EQ(trace.tid, fake_.pid());
  EXPECT_EQ(trace.thread, "fake_ioc");
  EXPECT_EQ(trace.cause.kind, "main");
  EXPECT_EQ(trace.why, Lines{"rate"});
  EXPECT_FALSE(trace.cut);
  ASSERT_EQ(trace.spans.size(), 4u);
  const Span &root = trace.spans[0], &first = trace.spans[1], &second = trace.spans[3];
  EXPECT_EQ(root.record_type, "fake");
  EXPECT_EQ(root.self, root.duration - first.duration - second.duration);
  EXPECT_GE(second.duration, std::chrono::milliseconds(2));
  EXPECT_LE(root.start, first.start);
  EXPECT_LE(first.start + first.duration, second.start);
  EXPECT_LE(second.start + second.duration, root.start + root.duration);
}

TEST_P(TracesTest, TheCauseIsTheThreads) {
  choose(all());
  fake_.ask({"name scan-0.1", "threads 1 1"});
  const Trace scan = only_trace();
  EXPECT_EQ(scan.cause.kind, "scan");
  EXPECT_EQ(scan.cause.scan, ".1 second");
  EXPECT_EQ(scan.thread, "scan-0.1");
  Options only_callbacks = all();
  only_callbacks.causes = 1u << IOCX_CAUSE_CALLBACK;
  choose(only_callbacks);
  fake_.ask({"threads 1 3", "name cbLow", "threads 1 1"});
  EXPECT_EQ(only_trace().cause.kind, "callback");
}

TEST_P(TracesTest, AStormGetsNoMoreThanTheRoomOfASecond) {
  choose_first(7);
  fake_.ask({"set 0 link 1", "call 0 100"});
  EXPECT_EQ(traces().size(), IOCX_TRACE_LOT_ROOM(7u));
  EXPECT_EQ(counted(IOCX_TRACE_SENT), IOCX_TRACE_LOT_ROOM(7u));
  choose(none());
  fake_.ask("call 0 100");
  EXPECT_TRUE(traces().empty());
}

// Ten in a row, and a pause: what comes first after it is chosen no more often than the last.
TEST_P(TracesTest, EachOfTenEqualRecordsHasTheSameChance) {
  Options options = none();
  options.rate = 500;
  choose(options);
  const auto& lots = loaded_->probe.object().maps().traces.lots;
  constexpr std::size_t kRows = 10, kChosen = 1500;
  std::map<std::string, double> chosen;
  std::size_t all = 0;
  while (all < kChosen) {
    for (std::size_t i = 0; i < kRows; ++i) fake_.ask("call " + std::to_string(i) + " 1");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const auto found = traces();
    if (value_of(lots.lookup(slot_))->usual == 0) continue;  // the first second chooses all
    for (const Trace& trace : found) chosen[trace.spans.front().name] += 1;
    all += found.size();
  }
  ASSERT_EQ(chosen.size(), kRows);
  // Eight standard deviations: one run in 10^14 is beyond.
  const double each = static_cast<double>(all) / kRows, bound = 8 * std::sqrt(each);
  for (const auto& [record, count] : chosen) EXPECT_NEAR(count, each, bound) << record;
}

TEST_P(TracesTest, CallsThatDoNotProcessAreSkippedSpans) {
  fake_.ask({"set 0 link 1", "set 0 also 2", "set 1 disa 1", "set 2 pact 1", "set 3 link 4"});
  Options options = none();
  options.active = true;
  choose(options);
  fake_.ask({"call 3 1", "call 0 1"});
  const Trace trace = only_trace();
  EXPECT_EQ(lines(trace), (Lines{"FAKE:0", "  FAKE:1 disabled", "  FAKE:2 active"}));
  EXPECT_EQ(trace.why, Lines{"active"});
  EXPECT_FALSE(trace.cut);
}

TEST_P(TracesTest, TheEndOfAChainChoosesIt) {
  fake_.ask(
      {"set 0 link 1", "set 2 link 3", "set 3 wait_us 500000", "set 4 link 5", "set 5 raises 2"});
  Options options = none();
  options.slower = std::chrono::milliseconds(500);
  options.alarms = true;
  choose(options);
  fake_.ask({"call 0 10", "call 2 1"});
  fake_.ask("call 4 3");  // it is in alarm already the second time
  const auto all = traces();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(lines(all[0]), (Lines{"FAKE:2", "  FAKE:3"}));
  EXPECT_EQ(all[0].why, Lines{"slower"});
  EXPECT_EQ(lines(all[1]), (Lines{"FAKE:4", "  FAKE:5 MAJOR"}));
  EXPECT_EQ(all[1].why, Lines{"alarm"});
}

TEST_P(TracesTest, ADemandForARecordGivesItsChainsOnly) {
  fake_.ask({"set 0 link 1", "set 1 link 2", "set 5 wait_us 500000"});
  choose(none());
  const auto now = TraceSelectors::Clock::now();
  Demand demand{*Pattern::compile("FAKE:2|FAKE:5"), {}, std::chrono::minutes(1), {}, ""};
  EXPECT_EQ(*ask(demand, now), 2u);
  EXPECT_TRUE(selectors_->wants_all(slot_));
  fake_.ask({"call 0 3", "call 3 5"});
  auto all = traces();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(lines(all[0]), (Lines{"FAKE:0", "  FAKE:1", "    FAKE:2"}));
  EXPECT_EQ(all[0].why, Lines{"asked"});

  EXPECT_TRUE(selectors_->look(now + std::chrono::minutes(2)));
  EXPECT_FALSE(selectors_->wants_all(slot_));
  fake_.ask("call 0 3");
  EXPECT_TRUE(traces().empty());

  demand.slower = std::chrono::milliseconds(500);
  EXPECT_EQ(*ask(demand, now), 2u);
  fake_.ask({"call 2 3", "call 5 1"});
  EXPECT_EQ(lines(only_trace()), Lines{"FAKE:5"});

  demand.records = *Pattern::compile("NONE");
  EXPECT_EQ(*ask(demand, now), 0u);
  demand.cause = "weather";
  EXPECT_FALSE(ask(demand, now));
}

TEST_P(TracesTest, TheRateMayBeForSomeRecordsOnly) {
  fake_.ask("set 0 link 1");
  Options options = all();
  options.records = *Pattern::compile("FAKE:1");
  choose(options);
  fake_.ask({"call 3 5", "call 0 1"});
  EXPECT_EQ(lines(only_trace()), (Lines{"FAKE:0", "  FAKE:1"}));
}

// A tree of 127 records: more than the buffer of a thread holds.
TEST_P(TracesTest, ALongChainComesInParts) {
  for (int i = 0; i < 63; ++i) {
    fake_.ask("set " + std::to_string(i) + " link " + std::to_string(2 * i + 1));
    fake_.ask("set " + std::to_string(i) + " also " + std::to_string(2 * i + 2));
  }
  choose(all());
  fake_.ask("call 0 1");
  const Trace whole = only_trace();
  EXPECT_FALSE(whole.cut);
  ASSERT_EQ(whole.spans.size(), 127u);
  std::map<SpanId, int> records;
  for (const Span& span : whole.spans) {
    const int record = std::stoi(span.name.substr(5));
    records[span.id] = record;
    EXPECT_EQ(span.parent == 0 ? 0 : records.at(span.parent), record == 0 ? 0 : (record - 1) / 2);
  }
  EXPECT_EQ(records.size(), 127u);

  // One that is slow while the buffer has room is chosen in time; of one that is slow at its end
  // only, the buffer has the beginning.
  Options by_its_time = none();
  by_its_time.slower = std::chrono::milliseconds(500);
  choose(by_its_time);
  fake_.ask({"set 2 wait_us 500000", "call 0 1"});
  EXPECT_EQ(only_trace().spans.size(), 127u);
  EXPECT_EQ(counted(IOCX_TRACE_DROP_TOO_LONG), 0u);
  fake_.ask({"set 2 wait_us 0", "set 126 wait_us 500000", "call 0 1"});
  const Trace cut = only_trace();
  EXPECT_TRUE(cut.cut);
  EXPECT_EQ(cut.spans.size(), 64u + 7u);
  EXPECT_EQ(counted(IOCX_TRACE_DROP_TOO_LONG), 1u);
}

TEST_P(TracesTest, ACallbackOfAnInterruptIsACauseOfItsOwn) {
  fake_.ask({"set 0 scan 2", "set 0 link 1"});
  choose(all());
  fake_.ask({"name cbLow", "scan 2 1", "name scanOnce", "threads 1 1"});
  std::multiset<std::string> causes;
  for (const Trace& trace : traces())
    causes.insert(trace.cause.kind + " " + trace.spans.front().name);
  EXPECT_EQ(causes,
            (std::multiset<std::string>{"callback FAKE:1", "io_intr FAKE:0", "once FAKE:0"}));
  Options of_interrupts = all();
  of_interrupts.causes = 1u << IOCX_CAUSE_IO_INTR;
  choose(of_interrupts);
  fake_.ask({"name cbLow", "scan 2 1", "threads 2 1"});
  EXPECT_EQ(lines(only_trace()), (Lines{"FAKE:0", "  FAKE:1"}));
}

TEST_P(TracesTest, AProcessingWithoutDbProcessIsASpanThatItsLinkContinues) {
  const auto now = std::chrono::steady_clock::now();
  loaded_->probe.sample_direct(now);
  fake_.ask({"set 0 link 1", "set 1 link 2", "set 4 async 1", "name poller", "complete 0 2"});
  loaded_->probe.sample_direct(now + std::chrono::minutes(2));  // it stays
  choose(all());
  fake_.ask("complete 0 1");
  const Trace trace = only_trace();
  EXPECT_EQ(lines(trace), (Lines{"FAKE:0", "  FAKE:1", "    FAKE:2"}));
  EXPECT_EQ(trace.cause.kind, "direct");
  EXPECT_EQ(trace.thread, "poller");
  EXPECT_EQ(trace.spans[0].duration.count(), 0);
  EXPECT_FALSE(trace.cut);
  fake_.ask({"set 0 link -1", "complete 0 7"});  // nothing continues these
  EXPECT_EQ(traces().size(), 7u);
  fake_.ask("after 0 3");  // nor does what comes when they are over, their return address in place
  EXPECT_EQ(traces().size(), 3u + 3);
  Options others = all();
  others.causes = 1u << IOCX_CAUSE_MAIN;
  choose(others);
  fake_.ask("complete 0 1");
  EXPECT_TRUE(traces().empty());
  fake_.ask("call 3 1");
  EXPECT_EQ(lines(only_trace()), Lines{"FAKE:3"});
  // A completion is none.
  choose(all());
  fake_.ask({"call 4 1", "complete 4 1"});
  EXPECT_EQ(lines(only_trace()), Lines{"FAKE:4 asynchronous"});
}

TEST_P(TracesTest, ChainsLeftByAnExceptionAreCut) {
  fake_.ask({"set 0 link 1", "set 1 leaves 1"});
  choose(all());
  fake_.ask("leave 0 1");
  EXPECT_TRUE(traces().empty());
  fake_.ask("call 5 1");
  const auto all = traces();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(lines(all[0]), (Lines{"FAKE:0 cut", "  FAKE:1 cut"}));
  EXPECT_TRUE(all[0].cut);
  EXPECT_EQ(lines(all[1]), Lines{"FAKE:5"});
}

TEST_P(TracesTest, AnIocThatFillsTheRingIsCountedAndTakesNoChainFromAnother) {
  choose(all());
  FakeIoc quiet;
  const auto place = value_of(loaded_->probe.watch(quiet.target(kRecords, true)));
  const std::uint32_t generation = loaded_->probe.generation(place);
  ASSERT_TRUE(selectors_->add(place, generation, "quiet", nullptr, TraceSelectors::Clock::now()));
  fake_.ask({"set 0 link 1", "call 0 10000"});
  const std::uint64_t sent = counted(IOCX_TRACE_SENT), lost = counted(IOCX_TRACE_DROP_SHARE);
  EXPECT_EQ(sent + lost, 10'000u);
  EXPECT_GT(lost, 0u);
  EXPECT_GT(sent, (768u << 10) / 216 - 2);  // three quarters, of two spans each
  quiet.ask("call 0 100");
  EXPECT_EQ(counted(IOCX_TRACE_SENT), sent + 100);
  EXPECT_EQ(counted(IOCX_TRACE_DROP_SHARE), lost);
  EXPECT_EQ(counted(IOCX_TRACE_DROP_RING_FULL), 0u);
  EXPECT_EQ(traces().size(), sent);
  EXPECT_EQ(reader_.counts().unknown_ioc, 100u);
  fake_.ask("call 0 1");  // there is room again
  EXPECT_EQ(counted(IOCX_TRACE_DROP_SHARE), lost);
  EXPECT_TRUE(selectors_->remove(place, generation));
  loaded_->probe.unwatch({place});
}

INSTANTIATE_TEST_SUITE_P(Modes, TracesTest, ::testing::Bool());

}  // namespace
}  // namespace ioc_exporter::traces
