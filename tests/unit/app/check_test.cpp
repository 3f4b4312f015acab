#include "app/check_command.h"

#include <gmock/gmock.h>

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

constexpr const char* kUp = " | up=1;;1:;0;1";
constexpr const char* kWaits = " pending=2;;;0 pending_oldest=900s;900;3600;0";

TEST(Check, AnIocThatIsWell) {
  const CommandResult result = judge(page());
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out, std::string("IOC OK - ps: runs") + kUp + kWaits + "\n");
  EXPECT_EQ(result.err, "");
  // What is not known is neither judged nor shown.
  EXPECT_EQ(judge("epics_ioc_up{ioc=\"ps\"} 1\nioc_exporter_time_seconds 5\n").out,
            std::string("IOC OK - ps: runs") + kUp + "\n");
}

TEST(Check, AnIocThatDoesNotRun) {
  CommandResult result = judge(page("epics_ioc_up{ioc=\"ps\"} 0\n"));
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, "IOC CRITICAL - ps: has ended | up=0;;1:;0;1\n");
  result = judge("epics_ioc_expected{ioc=\"ps\"} 1\nioc_exporter_time_seconds 5\n");
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.out, StartsWith("IOC CRITICAL - ps: is expected, and was not seen | up=0"));
  result = judge("epics_ioc_up{ioc=\"other\"} 1\nioc_exporter_time_seconds 5\n");
  EXPECT_EQ(result.status, 3);
  EXPECT_EQ(result.out, "IOC UNKNOWN - ps: the exporter knows no IOC of that name\n");
  EXPECT_EQ(judge("epics_ioc_up{ioc=\"ps\"} 1\n").status, 3) << "no page of ours";
}

TEST(Check, WhatIsNotCounted) {
  const CommandResult result =
      judge(page("epics_ioc_records_watched{ioc=\"ps\"} 0\n"
                 "epics_ioc_put_source{ioc=\"ps\",protocol=\"ca\",source=\"none\"} 1\n"
                 "epics_ioc_put_source{ioc=\"ps\",protocol=\"pva\",source=\"none\"} 1\n"));
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.out, StartsWith("IOC WARNING - ps: its records are not counted, its puts by "
                                     "Channel Access are not counted, its puts by PV Access are "
                                     "not all counted | "));
}

TEST(Check, WhatTheExporterDoesNotKnow) {
  const std::string success = "ioc_exporter_collector_success{collector=";
  const CommandResult result =
      judge(page("ioc_exporter_detached 1\n" + success + "\"records\"} 1\n" + success +
                 "\"puts\"} 0\n" + success + "\"policy\"} 0\n" + success + "\"traces\"} 0\n"));
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.out, StartsWith("IOC WARNING - ps: the exporter is detached and counts "
                                     "nothing, the exporter's part puts is not complete, the "
                                     "exporter's part policy is not complete | "));
}

std::string put(const char* action, const char* pv, double count, double last) {
  const std::string labels =
      std::string("{ioc=\"ps\",pv=\"") + pv + "\",action=\"" + action + "\"} ";
  return "epics_unexpected_puts_total" + labels + std::to_string(count) +
         "\nepics_last_unexpected_put_timestamp_seconds" + labels + std::to_string(last) + "\n";
}

TEST(Check, PutsThatThePolicyDoesNotAllow) {
  CommandResult result =
      judge(page(put("unexpected", "A", 3, 400) + put("unexpected", "B", 20, 300) +
                 put("forbidden", "A", 7, 399)));
  EXPECT_EQ(result.status, 1) << "the forbidden one was over ten minutes ago";
  EXPECT_THAT(result.out, StartsWith("IOC WARNING - ps: unexpected put 10 min ago | up=1;;1:;0;1 "
                                     "forbidden=7c unexpected=23c pending="));
  result = judge(page(put("unexpected", "A", 3, 400) + put("forbidden", "A", 7, 988)));
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.out, StartsWith("IOC CRITICAL - ps: forbidden put 12 s ago, unexpected "
                                     "put 10 min ago | "));
}

TEST(Check, APutWithCallbackThatWaits) {
  const auto waits = [](double pending) {
    return judge(page("epics_ioc_put_callback_oldest_seconds{ioc=\"ps\"} " +
                      std::to_string(pending) + "\n"));
  };
  EXPECT_EQ(waits(900.5).status, 1);
  EXPECT_THAT(waits(901).out,
              StartsWith("IOC WARNING - ps: a put with callback has waited for 15 min"));
  EXPECT_EQ(waits(3601).status, 2);
}

TEST(Check, PerformanceDataHasNoExponents) {
  EXPECT_THAT(judge(page(put("forbidden", "A", 3e10, 0) +
                         "epics_ioc_put_callback_oldest_seconds{ioc=\"ps\"} 5e-05\n"))
                  .out,
              HasSubstr(" forbidden=30000000000c pending=2;;;0 pending_oldest=0.00005s;900;"));
}

CommandResult run(const std::vector<const char*>& arguments) {
  return check_command(static_cast<int>(arguments.size()), arguments.data());
}

TEST(CheckCommand, WrongUsageIsUnknown) {
  for (const auto& [argument, problem] :
       {std::pair{"--url=http://127.0.0.1:1", "which IOC? --ioc=NAME (see ioc_exporter check"},
        {"word", "unexpected argument"},
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
    const CommandResult result = run({"--ioc=ps", argument});
    EXPECT_EQ(result.status, 3) << argument;
    EXPECT_THAT(result.out, HasSubstr(problem));
  }
  EXPECT_EQ(run({"--help"}).status, 0);
}

// Only one '|' begins the performance data, and it is one line.
TEST(CheckCommand, WhoDoesNotAnswerIsUnknown) {
  const CommandResult result = run({"--ioc=a|b", "--url=http://127.0.0.1:1"});
  EXPECT_EQ(result.status, 3);
  EXPECT_THAT(result.out,
              StartsWith("IOC UNKNOWN - ask the exporter at http://127.0.0.1:1: connect "
                         "to 127.0.0.1 port 1: Connection refused"));
  EXPECT_EQ(judge(R"(epics_ioc_up{ioc="a|b\n"} 1
ioc_exporter_time_seconds 5
)",
                  "a|b\n")
                .out,
            std::string("IOC OK - a_b_: runs") + kUp + "\n");
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
