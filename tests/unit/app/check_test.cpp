#include "app/check_command.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <vector>

namespace ioc_exporter::app {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr CheckLimits kLimits{600, 900, 3600};

CommandResult judge(const std::string& page, const std::string& ioc = "ps") {
  IocValues values;
  MetricLines lines(check_families(), [&](const MetricLine& series) { take(values, ioc, series); });
  EXPECT_TRUE(lines.read(page));
  return judge(values, ioc, kLimits);
}

// An IOC that is well, and another one that is not.
std::string page(const std::string& more = "") {
  return R"(epics_ioc_up{ioc="ps"} 1
epics_ioc_up{ioc="other"} 0
epics_ioc_records_watched{ioc="ps"} 1
epics_ioc_records_watched{ioc="other"} 0
epics_ioc_put_source{ioc="ps",protocol="ca",source="packets"} 1
epics_ioc_put_source{ioc="ps",protocol="pva",source="server"} 1
epics_ioc_put_source{ioc="other",protocol="ca",source="none"} 1
epics_last_unexpected_put_timestamp_seconds{ioc="other",action="forbidden"} 1000
epics_ioc_put_callbacks_pending{ioc="ps"} 2
epics_ioc_put_callback_oldest_seconds{ioc="ps"} 900
)" + more +
         "ioc_exporter_time_seconds 1000\n";
}

std::string put(const char* action, const char* pv, double count, double last) {
  const std::string labels =
      std::string("{ioc=\"ps\",pv=\"") + pv + "\",action=\"" + action + "\"} ";
  return "epics_unexpected_puts_total" + labels + std::to_string(count) +
         "\nepics_last_unexpected_put_timestamp_seconds" + labels + std::to_string(last) + "\n";
}
std::string oldest(double seconds) {
  return "epics_ioc_put_callback_oldest_seconds{ioc=\"ps\"} " + std::to_string(seconds) + "\n";
}

// What a monitoring system goes by: the status, its word, how many problems, the performance data.
TEST(Check, EachPageHasItsStatus) {
  const std::string success = "ioc_exporter_collector_success{collector=",
                    time = "ioc_exporter_time_seconds 5\n";
  const std::string waits = " pending=2;;;0 pending_oldest=900s;900;3600;0\n";
  const std::string up = "up=1;;1:;0;1";
  struct Row {
    std::string page;
    int status;
    std::ptrdiff_t problems;  // with commas between them
    std::string data;
  };
  const Row rows[] = {
      {page(), 0, 1, up + waits},
      {"epics_ioc_up{ioc=\"ps\"} 1\n" + time, 0, 1, up + "\n"},  // the rest is not known
      {page("epics_ioc_up{ioc=\"ps\"} 0\n"), 2, 1, "up=0;;1:;0;1\n"},
      {"epics_ioc_expected{ioc=\"ps\"} 1\n" + time, 2, 2, "up=0;;1:;0;1\n"},
      {"epics_ioc_up{ioc=\"other\"} 1\n" + time, 3, 1, ""},
      {"epics_ioc_up{ioc=\"ps\"} 1\n", 3, 1, ""},  // no page of ours
      {page("epics_ioc_records_watched{ioc=\"ps\"} 0\n"
            "epics_ioc_put_source{ioc=\"ps\",protocol=\"ca\",source=\"none\"} 1\n"
            "epics_ioc_put_source{ioc=\"ps\",protocol=\"pva\",source=\"none\"} 1\n"),
       1, 3, up + waits},
      {page("ioc_exporter_detached 1\n" + success + "\"records\"} 1\n" + success + "\"puts\"} 0\n" +
            success + "\"traces\"} 0\n"),
       1, 2, up + waits},
      // The forbidden one was over ten minutes ago.
      {page(put("unexpected", "A", 3, 400) + put("unexpected", "B", 20, 300) +
            put("forbidden", "A", 7, 399)),
       1, 1, up + " forbidden=7c unexpected=23c" + waits},
      {page(put("unexpected", "A", 3, 400) + put("forbidden", "A", 7, 988)), 2, 2,
       up + " forbidden=7c unexpected=3c" + waits},
      {page(oldest(900.5)), 1, 1, up + " pending=2;;;0 pending_oldest=900.5s;900;3600;0\n"},
      {page(oldest(3601)), 2, 1, up + " pending=2;;;0 pending_oldest=3601s;900;3600;0\n"}};
  constexpr const char* kWords[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};
  for (const Row& row : rows) {
    const CommandResult result = judge(row.page);
    EXPECT_EQ(result.status, row.status) << row.page;
    const std::string& out = result.out;
    const std::size_t bar = std::min(out.find(" | "), out.size());
    EXPECT_THAT(out, StartsWith(std::string("IOC ") + kWords[row.status] + " - "));
    EXPECT_EQ(std::count(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(bar), ',') + 1,
              row.problems)
        << out;
    EXPECT_EQ(bar < out.size() ? out.substr(bar + 3) : "", row.data);
    EXPECT_EQ(result.err, "");
  }
}

TEST(Check, AnIocThatIsNotKnownIsNamed) {
  EXPECT_THAT(judge(page(), "none").out, HasSubstr("none: the exporter knows no IOC of that name"));
}

TEST(Check, PerformanceDataHasNoExponents) {
  EXPECT_THAT(judge(page(put("forbidden", "A", 3e10, 0) +
                         "epics_ioc_put_callback_oldest_seconds{ioc=\"ps\"} 5e-05\n"))
                  .out,
              HasSubstr(" forbidden=30000000000c pending=2;;;0 pending_oldest=0.00005s;900;"));
}

CommandResult run(const std::vector<const char*>& arguments) {
  return ioc_exporter::run(check_command(), static_cast<int>(arguments.size()), arguments.data());
}

TEST(CheckCommand, WrongUsageIsUnknown) {
  for (const auto& [argument, problem] :
       {std::pair{"--url=http://127.0.0.1:1", "no IOC was given (see ioc_exporter check --help)"},
        {"--no-such", "unknown option"}}) {
    const CommandResult result = run({argument});
    EXPECT_EQ(result.status, 3) << argument;
    EXPECT_THAT(result.out, StartsWith("IOC UNKNOWN - "));
    EXPECT_THAT(result.out, HasSubstr(problem));
  }
  for (const auto& [argument, problem] : {std::pair{"--pending=1m", "--pending: "},
                                          {"--pending=1m,30s", "warns after it is critical"},
                                          {"--pending=x,30s", "--pending: "},
                                          {"--unexpected-within=soon", "--unexpected-within: "},
                                          {"--pending=", "--pending: "}}) {
    const CommandResult result = run({"ps", argument});
    EXPECT_EQ(result.status, 3) << argument;
    EXPECT_THAT(result.out, HasSubstr(problem));
  }
  EXPECT_EQ(run({"--help"}).status, 0);
}

TEST(CheckCommand, OldSpellingsAreTaken) {
  const CommandResult result = run({"--ioc=ps", "--lock=1s", "--url=http://127.0.0.1:1"});
  EXPECT_THAT(result.out, StartsWith("IOC UNKNOWN - ask the exporter at http://127.0.0.1:1: "));
  EXPECT_EQ(result.err,
            "ioc_exporter check: --ioc is old: give IOC without it\n"
            "ioc_exporter check: --lock has no effect any more\n");
}

// Only one '|' begins the performance data, and it is one line.
TEST(CheckCommand, WhoDoesNotAnswerIsUnknown) {
  const CommandResult result = run({"a|b", "--url=http://127.0.0.1:1"});
  EXPECT_EQ(result.status, 3);
  EXPECT_THAT(result.out,
              StartsWith("IOC UNKNOWN - ask the exporter at http://127.0.0.1:1: connect "
                         "to 127.0.0.1 port 1: Connection refused"));
  EXPECT_EQ(judge(R"(epics_ioc_up{ioc="a|b\n"} 1
ioc_exporter_time_seconds 5
)",
                  "a|b\n")
                .out,
            "IOC OK - a_b_: runs | up=1;;1:;0;1\n");
}

// A page without an end does not fill the memory.
TEST(Check, OddSeriesAreFew) {
  IocValues values;
  MetricLine series;
  series.name = "epics_ioc_put_source";
  series.value = 1;
  for (int i = 0; i < 1000; ++i) {
    series.labels = {{"ioc", "ps"}, {"protocol", std::to_string(i)}, {"source", "none"}};
    take(values, "ps", series);
  }
  EXPECT_LE(values.size(), 100u);
}

}  // namespace
}  // namespace ioc_exporter::app
