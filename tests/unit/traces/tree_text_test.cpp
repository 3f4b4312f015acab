// Traces as text.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>

#include "example_traces.h"
#include "traces/tree_text.h"

namespace ioc_exporter::traces {
namespace {

class TreeTextTest : public testing::Test {
 protected:
  TreeTextTest() {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }
};

TEST_F(TreeTextTest, TimesAreAlignedAndTheSlowestBranchIsMarked) {
  EXPECT_EQ(tree_text(scan_trace(), false),
            "23:00:00.000005  ps  scan 1 second\n"
            "  trace abcd0000000000000000000000000000 on scan-1; chosen: rate\n"
            "  START µs  DURATION µs  SELF µs\n"
            "       0.0        100.0     20.0  * A calc\n"
            "      10.0         60.0     50.0  * ├─ B calc\n"
            "      20.0         10.0     10.0  * │  └─ D calc\n"
            "      75.0         20.0     20.0    └─ C calc\n\n");
}

// Puts with their users, alarms, skipped records, late completions and puts to other IOCs.
TEST_F(TreeTextTest, HasARowForEachRecord) {
  Trace trace = scan_trace();
  trace.parent = 0x17;
  trace.thread = "CAS-client";
  trace.cause = {.kind = "ca",
                 .scan = "",
                 .client = "10.0.0.7:40112",
                 .user = "ada",
                 .client_host = "console",
                 .pv = "A.VAL",
                 .op = "write",
                 .value = putlog::Value{{1.5}, false}};
  trace.why = {"asked", "slower"};
  trace.spans = {span(1, 0, "A.VAL", 0, 25'000'000, 0), span(2, 1, "A", 5'000, 24'000'000, 20'000),
                 span(3, 2, "B", 10'000, 0, 0), span(4, 2, "C", 15'000, 3'000'000, 1'000'000),
                 span(5, 2, "FAR:X", 20'000, 100'000, 0)};
  trace.spans[0].kind = SpanKind::put;
  trace.spans[1].until_return = Duration(400'000);
  trace.spans[1].thread = "cbLow";
  trace.spans[1].alarm = "MAJOR";
  trace.spans[1].status = "HIHI";
  trace.spans[2].skipped = "active";
  trace.spans[3].alarm = "MINOR";
  trace.spans[4].kind = SpanKind::link_put;
  trace.spans[4].skipped = "disconnected";
  EXPECT_EQ(
      tree_text(trace, false),
      "23:00:00.000005  ps  ca: ada@console (10.0.0.7:40112) put 1.5 to A.VAL, write\n"
      "  trace abcd0000000000000000000000000000 on CAS-client; chosen: asked, slower; goes on from "
      "span 0000000000000017\n"
      "  START ms  DURATION ms  SELF ms\n"
      "     0.000       25.000        -  * put A.VAL\n"
      "     0.005       24.000    0.020  * └─ A calc             MAJOR HIHI; async: returned after "
      "0.400, completed after 24.000 on cbLow\n"
      "     0.010        0.000    0.000       ├─ B calc          skipped: active\n"
      "     0.015        3.000    1.000  *    ├─ C calc          MINOR\n"
      "     0.020        0.100        -       └─ link put FAR:X  skipped: disconnected\n\n");
}

TEST_F(TreeTextTest, UnseenCallsAreMarked) {
  Trace trace = scan_trace();
  trace.cut = true;
  trace.spans.resize(2);
  trace.spans[0].until_return = Duration(70'000);
  trace.spans[0].cut = trace.spans[1].cut = true;
  trace.spans.push_back(span(9, 8, "E", 80'000, 5'000, 5'000));  // its parent is missing
  EXPECT_EQ(
      tree_text(trace, false),
      "23:00:00.000005  ps  scan 1 second\n"
      "  trace abcd0000000000000000000000000000 on scan-1; chosen: rate; cut: not all of it was "
      "seen\n"
      "  START µs  DURATION µs  SELF µs\n"
      "       0.0        100.0     20.0  * A calc     async: returned after 70.0, end not seen\n"
      "      10.0         60.0     50.0  * └─ B calc  cut: end not seen\n"
      "      80.0          5.0      5.0    E calc\n\n");
}

TEST_F(TreeTextTest, UnknownFieldsAreLeftOut) {
  Trace trace;
  trace.cause.kind = "other";
  EXPECT_EQ(tree_text(trace, false),
            "00:00:00.000000  -  other\n"
            "  trace 00000000000000000000000000000000\n"
            "  START µs  DURATION µs  SELF µs\n\n");
  trace.cause.kind = "pva";
  trace.cause.pv = "A";
  EXPECT_TRUE(tree_text(trace, false).starts_with("00:00:00.000000  -  pva: somebody put to A\n"));
  trace.cause.kind = "callback";
  trace.cause.pv = "";
  trace.cause.scan = "I/O Intr";
  EXPECT_TRUE(tree_text(trace, false).starts_with("00:00:00.000000  -  callback, I/O Intr\n"));
}

// A chain of links is as deep as it is long: the tree keeps to the left from some depth on.
TEST_F(TreeTextTest, DeepChainsKeepToTheLeft) {
  Trace trace = scan_trace();
  trace.spans.clear();
  for (SpanId i = 0; i < 30; ++i)
    trace.spans.push_back(span(i + 1, i, "R" + std::to_string(i), 0, 1'000, 1'000));
  const std::string text = tree_text(trace, false);
  EXPECT_NE(text.find("  * " + std::string(45, ' ') + "└─ R16 calc\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  * " + std::string(45, ' ') + "└─ (17) R17 calc\n"), std::string::npos);
  EXPECT_NE(text.find("  * " + std::string(45, ' ') + "└─ (29) R29 calc\n"), std::string::npos);
}

TEST_F(TreeTextTest, WideFanoutsHaveALineEach) {
  Trace trace = scan_trace();
  trace.spans.resize(1);
  for (SpanId i = 0; i < 1000; ++i)
    trace.spans.push_back(span(i + 2, 1, "R", 0, i == 500 ? 2'000 : 1'000, 1'000));
  const std::string text = tree_text(trace, false);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1005);
  EXPECT_EQ(std::count(text.begin(), text.end(), '*'), 2);
}

TEST_F(TreeTextTest, ColoursAlarmsAndTheSlowestBranch) {
  Trace trace = scan_trace();
  trace.spans[0].alarm = "MINOR";
  trace.spans[3].alarm = "INVALID";
  trace.spans[2].cut = true;
  const std::string text = tree_text(trace, true);
  for (const char* part :
       {"\x1b[1mps\x1b[0m", "* \x1b[1mA calc\x1b[0m", "\x1b[33mMINOR\x1b[0m",
        "\x1b[31mINVALID\x1b[0m", "\x1b[33mcut: end not seen\x1b[0m", "   └─ C calc"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_EQ(tree_text(trace, false).find('\x1b'), std::string::npos);
}

// Anybody may answer on that port, and IOCs choose the names of records.
TEST_F(TreeTextTest, NothingSteersTheTerminal) {
  const std::string bad = "\x1b[2J\n\xc2\x9b\xff\xe2\x80\xae";
  Trace trace = scan_trace();
  for (std::string* text :
       {&trace.ioc, &trace.thread, &trace.cause.kind, &trace.cause.scan, &trace.cause.client,
        &trace.cause.user, &trace.cause.client_host, &trace.cause.pv, &trace.cause.op,
        &trace.why[0], &trace.spans[0].name, &trace.spans[0].record_type, &trace.spans[1].skipped,
        &trace.spans[1].alarm, &trace.spans[1].status, &trace.spans[2].thread})
    *text = bad;
  trace.cause.value = putlog::Value{{bad, std::int64_t{2}}, true};
  const std::string text = tree_text(trace, false);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 8) << text;
  for (const char* steers : {"\x1b", "\xc2\x9b", "\xff", "\xe2\x80\xae"})
    EXPECT_EQ(text.find(steers), std::string::npos);
}

TEST_F(TreeTextTest, LongValuesAreCut) {
  Trace trace = scan_trace();
  trace.cause.pv = "A";
  trace.cause.value = putlog::Value{std::vector<putlog::Element>(100, std::int64_t{1}), true};
  EXPECT_THAT(tree_text(trace, false),
              testing::HasSubstr("put [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
                                 "1,1,1... to A\n"));
}

// Links of a trace that somebody made up.
TEST_F(TreeTextTest, NonsenseEnds) {
  Trace trace = scan_trace();
  trace.spans[0].parent = 4;
  trace.spans[1].parent = 2;
  trace.spans[2].id = 1;
  trace.spans[3].parent = 4;
  trace.spans[3].duration = Duration(-5);
  const std::string text = tree_text(trace, false);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 8) << text;
}

}  // namespace
}  // namespace ioc_exporter::traces
