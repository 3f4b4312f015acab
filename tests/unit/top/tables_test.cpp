#include "top/tables.h"

#include <gtest/gtest.h>

namespace ioc_exporter::top {
namespace {

using namespace std::chrono_literals;

constexpr const char* kBefore = R"(
epics_ioc_up{ioc="ps"} 1
epics_ioc_up{ioc="old"} 0
epics_ioc_cpu_seconds_total{ioc="ps",thread_class="scan"} 100
epics_ioc_cpu_seconds_total{ioc="ps",thread_class="ca"} 50
epics_ioc_processings_total{ioc="ps",cause="scan",period="1"} 1000
epics_record_process_total{ioc="ps",record="A"} 1000
epics_record_process_total{ioc="ps",record="B"} 500
epics_record_process_total{ioc="ps",record="gone"} 500
epics_record_process_total{ioc="ps",record="idle"} 7
epics_record_process_self_seconds_total{ioc="ps",record="A"} 10
epics_record_process_self_seconds_total{ioc="ps",record="B"} 5
epics_puts_total{ioc="ps",protocol="ca",pv="A",client="10.0.0.7",user="ada",client_host="con",op="write"} 5
)";
constexpr const char* kNow = R"(
epics_ioc_up{ioc="ps"} 1
epics_ioc_up{ioc="new"} 1
epics_ioc_up{ioc="old"} 0
epics_ioc_cpu_seconds_total{ioc="ps",thread_class="scan"} 101
epics_ioc_cpu_seconds_total{ioc="ps",thread_class="ca"} 50.5
epics_ioc_cpu_seconds_total{ioc="new",thread_class="scan"} 12345
epics_ioc_processings_total{ioc="ps",cause="scan",period="1"} 1200
epics_ioc_processings_total{ioc="ps",cause="link",period=""} 30
epics_ioc_resident_memory_bytes{ioc="ps"} 10485760
epics_circuits{ioc="ps",protocol="ca"} 3
epics_record_process_total{ioc="ps",record="A"} 1100
epics_record_process_total{ioc="ps",record="B"} 20
epics_record_process_total{ioc="ps",record="idle"} 7
epics_record_process_total{ioc="new",record="C\x1B[2J"} 40
epics_record_process_self_seconds_total{ioc="ps",record="A"} 10.01
epics_record_process_self_seconds_total{ioc="ps",record="B"} 0.4
epics_puts_total{ioc="ps",protocol="ca",pv="A",client="10.0.0.7",user="ada",client_host="con",op="write"} 5
epics_puts_total{ioc="ps",protocol="ca",pv="B",client="10.0.0.7",user="ada",client_host="con",op="write"} 4
epics_puts_total{ioc="new",protocol="ca",pv="C",client="10.0.0.7",user="ada",client_host="con",op="write"} 6
epics_puts_total{ioc="ps",protocol="pva",pv="A",client="10.0.0.8",user="",client_host="",op="put"} 1
)";

Reading reading(std::string text, Reading::Clock::time_point time,
                std::size_t most = Reading::kMostSeries) {
  // A name that the exporter would not send.
  if (const auto at = text.find("\\x1B"); at != std::string::npos) text.replace(at, 4, "\x1b");
  Reading made(time, most);
  MetricLines lines(family_names(), [&made](const MetricLine& series) { made.take(series); });
  EXPECT_TRUE(lines.read(text)) << lines.problem();
  return made;
}

class TopTables : public testing::Test {
 protected:
  std::vector<std::string> lines(By by, std::size_t most = 100, std::size_t width = 200) const {
    return lines_of(table_of(by, before_, now_, most), width);
  }
  using Lines = std::vector<std::string>;
  const Reading::Clock::time_point start_{1h};
  Reading before_ = reading(kBefore, start_), now_ = reading(kNow, start_ + 2s);
};

// B has begun anew; what is gone and what does nothing is left out; C came.
TEST_F(TopTables, Records) {
  EXPECT_EQ(
      lines(By::records),
      (Lines{"IOC  RECORD  SELF %  CALLS/S  µs/CALL", "ps   B        20.00     10.0  20000.0",
             "ps   A         0.50     50.0    100.0", "new  C_[2J        -     20.0        -"}));
}

// With --series=site times are by record type: those of no record, but in the sums of IOC and host.
TEST(TopTablesOfASite, TimesAreByRecordType) {
  const std::string head = R"(
epics_ioc_up{ioc="ps"} 1
epics_record_process_total{ioc="ps",record=""} %
epics_record_process_total{ioc="ps",record="A"} %
epics_record_process_self_seconds_total{ioc="ps",record_type="ai"} 0.%
epics_record_process_self_seconds_total{ioc="ps",record_type="calc"} 0.%
)";
  const auto filled = [&head](const char* number) {
    std::string text = head;
    for (std::size_t at; (at = text.find('%')) != std::string::npos;) text.replace(at, 1, number);
    return text;
  };
  const Reading::Clock::time_point start{1h};
  const Reading before = reading(filled("2"), start), now = reading(filled("4"), start + 2s);
  const Table records = table_of(By::records, before, now, 9);
  EXPECT_EQ(lines_of(records, 99),
            (std::vector<std::string>{"IOC  RECORD  SELF %  CALLS/S  µs/CALL",
                                      "ps   -            -      1.0        -",
                                      "ps   A            -      1.0        -"}));
  EXPECT_EQ(records.summary, "1 IOC; 0.0 records/s take 20.00 % of a core; 0.0 puts/s");
}

// The CPU time of an IOC before its first scrape is not its usage now.
TEST_F(TopTables, Iocs) {
  EXPECT_EQ(lines(By::iocs), (Lines{"IOC  CPU %  SELF %  CALLS/S  PUTS/S  CIRCUITS   MIB",
                                    "ps   75.00   20.50    115.0     2.5         3  10.0",
                                    "new   0.00       -      0.0     3.0         -     -",
                                    "old   down       -        -       -         -     -"}));
}

TEST_F(TopTables, Clients) {
  EXPECT_EQ(lines(By::clients), (Lines{"CLIENT    USER     PUTS/S  IOCS  PVS  MOST WRITTEN",
                                       "10.0.0.7  ada@con     5.0     2    2  C",
                                       "10.0.0.8  -           0.5     1    1  A"}));
}

TEST_F(TopTables, TheSummaryIsOfTheHost) {
  EXPECT_EQ(table_of(By::clients, before_, now_, 5).summary,
            "2 IOCs; 115.0 records/s take 20.50 % of a core; 5.5 puts/s");
}

TEST_F(TopTables, CountsRowsThatAreLeftOut) {
  EXPECT_EQ(table_of(By::records, before_, now_, 1).note, "2 more");
  EXPECT_EQ(lines(By::records, 1).size(), 2u);
  const Reading few = reading(kNow, start_ + 2s, 15);
  EXPECT_EQ(few.left_out(), 5u);
  EXPECT_EQ(table_of(By::clients, before_, few, 5).note, "5 series are too many, and left out");
}

TEST_F(TopTables, NoLineIsLongerThanTheTerminalIsWide) {
  EXPECT_EQ(lines(By::records, 2, 12), (Lines{"IOC  RECORD ", "ps   B      ", "ps   A      "}));
  EXPECT_EQ(cut_to("aµb", 2), "aµ");
  EXPECT_EQ(cut_to("aµb", 9), "aµb");
  EXPECT_EQ(cut_to("\xff\xff", 1), "\xff");
}

TEST_F(TopTables, WithoutTimeThereAreNoRates) {
  EXPECT_EQ(lines_of(table_of(By::records, now_, now_, 9), 99).size(), 1u);
  EXPECT_EQ(lines_of(table_of(By::clients, Reading(), Reading(), 9), 99).size(), 1u);
  EXPECT_EQ(table_of(By::iocs, Reading(), Reading(), 9).summary,
            "0 IOCs; 0.0 records/s, not timed; 0.0 puts/s");
}

}  // namespace
}  // namespace ioc_exporter::top
