#include "putlog/puts_command.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "events.h"
#include "putlog/json.h"
#include "putlog/puts_table.h"

namespace ioc_exporter::putlog {
namespace {

class PutsTableTest : public testing::Test {
 protected:
  PutsTableTest() {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }
  static PutEvent full() {
    PutEvent one = event(7);
    one.old = scalar(std::string("Off"));
    one.client_host = "console";
    one.status = "ok";
    one.seconds = 0.25;
    one.rule = "operators";
    one.action = "expected";
    return one;
  }
};

TEST_F(PutsTableTest, IsAlignedAndSaysAll) {
  PutsTable table(false);
  EXPECT_EQ(table.lines({to_json(full()), to_json(event(8, "SR:LONGER", std::int64_t{3}))}),
            "TIME          IOC  PV         OLD  NEW  CLIENT         USER         RESULT     "
            "POLICY\n"
            "23:00:00.000  ps   SR:I       Off  1.5  10.0.0.7:4711  ada@console  ok 0.25 s  "
            "expected: operators\n"
            "23:00:00.000  ps   SR:LONGER  -    3    10.0.0.7:4711  ada          -\n");
  // The head once; columns stay as wide as they were.
  EXPECT_EQ(table.lines({to_json(event(9))}),
            "23:00:00.000  ps   SR:I       -    1.5  10.0.0.7:4711  ada          -\n");
}

TEST_F(PutsTableTest, TellsTheDayWhereThereMayBeSeveralAndTheSizeOfArrays) {
  PutEvent one = event(1);
  one.value = Value{std::vector<Element>(20, Element(std::int64_t{1})), true};
  one.count = 5000;
  const std::string text = PutsTable(false, true).lines({to_json(one)});
  EXPECT_NE(text.find("\n11-22 23:00:00.000  ps "), std::string::npos) << text;
  EXPECT_NE(text.find("[1 1 1 1 1 1 1 1 ...] of 5000"), std::string::npos) << text;
}

TEST_F(PutsTableTest, ColoursBadValues) {
  PutsTable table(true);
  PutEvent bad = full(), failed = event(2);
  bad.action = "forbidden";
  failed.status = "put_failed";
  const std::string text = table.lines({to_json(bad), to_json(failed)});
  EXPECT_TRUE(text.starts_with("TIME "));
  EXPECT_EQ(text.substr(0, text.find('\n')).find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("\x1b[31m23:00"), std::string::npos);
  EXPECT_NE(text.find("\x1b[33m23:00"), std::string::npos);
  EXPECT_TRUE(PutsTable(false).lines({to_json(bad)}).find('\x1b') == std::string::npos);
}

// Anybody may answer on that port.
TEST_F(PutsTableTest, NothingSteersTheTerminal) {
  PutsTable table(false);
  const std::string text = table.lines(
      {R"({"time":"2026-11-22T23:00:00\u001b[2J","pv":"\u001b[31m\n","value":["\u009b",[[1]],{"a":1},null],"user":7})",
       "no JSON", "[]", "{}", R"({"time":5,"value":{},"seconds":"x","count":"y"})"});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
}

TEST(PutsLines, OfAWrongAnswerTheProblemIsTold) {
  const std::string good = to_json(event(1)) + "\n";
  std::vector<std::string> lines;
  for (const char* rest : {"<html>", ""}) {
    LineStream stream;
    EXPECT_FALSE(stream.take(good + rest + "\n", lines)) << rest;
    EXPECT_NE(stream.problem().find("a line: "), std::string::npos) << stream.problem();
  }
  LineStream cut;
  EXPECT_TRUE(cut.take(good + to_json(event(2)), lines));
  EXPECT_EQ(cut.problem(), "a line is cut");
}

TEST(PutsLines, TellWhereTheAnswerBegins) {
  LineStream stream;
  std::vector<std::string> lines;
  EXPECT_TRUE(stream.take(R"({"reaches_back_to":"2026-11-22T23:00:00Z"})"
                          "\n" +
                              to_json(event(1)) + "\n",
                          lines));
  EXPECT_EQ(lines.size(), 1u);
  EXPECT_EQ(stream.reach(), "2026-11-22T23:00:00Z");
}

TEST(PutsJsonLines, AreTheReceivedLinesWithoutControlCharacters) {
  PutEvent one = event(1);
  one.user = "a\x1b[2J  b\n\xff\xc2\x9b\xe2\x80\xae";
  EXPECT_EQ(json_lines({to_json(one), to_json(one)}), to_json(one) + "\n" + to_json(one) + "\n");
  const std::string text =
      json_lines({"{\"pv\":\"\x1b[31m\xc2\x9b"
                  "2J\xe2\x80\xae\xff\"}",
                  ""});
  for (const char* bad : {"\x1b", "\xc2\x9b", "\xe2\x80\xae", "\xff"})
    EXPECT_EQ(text.find(bad), std::string::npos) << bad;
}

TEST(EventStreamTest, IsReadHoweverItIsCut) {
  const std::string stream =
      "retry: 3000\n\nid: 1\ndata: {\"seq\":1}\n\n:\n\nid: 2\ndata: {\"seq\":2}\n\n"
      "event: lost\ndata: {\"lost\":3}\n\n";
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    EventStream events;
    auto all = events.take(stream.substr(0, cut));
    for (const std::string& one : events.take(stream.substr(cut))) all.push_back(one);
    EXPECT_EQ(all, (std::vector<std::string>{R"({"seq":1})", R"({"seq":2})"})) << cut;
    EXPECT_TRUE(events.was_too_slow());
  }
}

TEST(PutsCommandTest, WrongUsageIsTold) {
  const auto run = [](std::vector<const char*> arguments) {
    const CommandResult result =
        ioc_exporter::run(puts_command(), static_cast<int>(arguments.size()), arguments.data());
    return std::pair(result.status, result.err);
  };
  for (const auto& [argument, problem] : {std::pair{"--pv=(", "pv: regular expression"},
                                          {"word", "unexpected argument"},
                                          {"--since=tomorrow", "since: "},
                                          {"--file=/puts.jsonl", "--file needs --since"},
                                          {"--until=1m", "--until needs --since"},
                                          {"--no-such", "unknown option"}}) {
    const auto [status, text] = run({argument});
    EXPECT_EQ(status, 2) << argument;
    EXPECT_NE(text.find(problem), std::string::npos) << text;
  }
  EXPECT_EQ(run({"--url=http://127.0.0.1:1", "--since=1m"}).first, 1);
  EXPECT_EQ(run({"--url=http://127.0.0.1:1"}).first, 1);
  EXPECT_EQ(run({"--user=x", "--pending"}).first, 2);
  EXPECT_EQ(run({"--since=1m", "--file=/a", "--follow"}).first, 2);
  EXPECT_EQ(run({"--since=2m", "--until=1m", "--follow"}).first, 2);
  const auto [status, text] = run({"--since=1m", "--file=/no/such/puts.jsonl"});
  EXPECT_EQ(status, 1);
  EXPECT_NE(text.find("open /no/such/puts.jsonl: "), std::string::npos) << text;
}

}  // namespace
}  // namespace ioc_exporter::putlog
