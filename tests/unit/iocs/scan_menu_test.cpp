#include "iocs/memory/database_reader.h"

#include <gtest/gtest.h>

#include "database_image.h"

namespace ioc_exporter::iocs {
namespace {

using Periods = std::vector<std::string>;

// As the threads of Base 7.0.10 are called.
TEST(ScanMenu, APeriodIsTheNumberOfSecondsOfItsChoice) {
  EXPECT_EQ(scan_period_text("10 second", 0), "10");
  EXPECT_EQ(scan_period_text(".1 second", 6), "0.1");
  EXPECT_EQ(scan_period_text("0.05 seconds", 7), "0.05");
  EXPECT_EQ(scan_period_text("2", 7), "2");
  EXPECT_EQ(scan_period_text("1 Minute", 7), "60");
  EXPECT_EQ(scan_period_text("2 hours", 7), "7200");
  EXPECT_EQ(scan_period_text("20 Hz", 7), "0.05");
  EXPECT_EQ(scan_period_text("3 hertz", 7), "0.333333");
}

TEST(ScanMenu, AChoiceThatBaseDoesNotUnderstandHasItsNumber) {
  EXPECT_EQ(scan_period_text("often", 7), "7");
  EXPECT_EQ(scan_period_text("-1 second", 2), "2");
  EXPECT_EQ(scan_period_text("1 fortnight", 3), "3");
  EXPECT_EQ(scan_period_text("", 4), "4");
  EXPECT_EQ(scan_period_text("inf", 5), "5");
}

class ScanMenuOfIoc : public testing::Test {
 protected:
  Periods read() { return read_scan_periods(*memory_, image_.root().menu_list); }

  std::unique_ptr<ProcMemory> memory_ = own_memory();
  DatabaseImage image_;
};

TEST_F(ScanMenuOfIoc, ItsPeriodicChoicesAreRead) {
  image_.add_menu("menuYesNo", {"NO", "YES"});
  image_.add_menu("menuScan", {"Passive", "Event", "I/O Intr", "1 minute", ".1 second"});
  image_.add_menu("menuPriority", {"LOW", "MEDIUM", "HIGH", "HIGHER"});
  EXPECT_EQ(read(), (Periods{"60", "0.1"}));
}

TEST_F(ScanMenuOfIoc, WithoutOneThereIsNone) {
  EXPECT_EQ(read(), Periods());
  image_.add_menu("menuScan", {"Passive"});
  EXPECT_EQ(read(), Periods());
}

TEST_F(ScanMenuOfIoc, AListThatMakesNoSenseIsNone) {
  image_.add_menu("menuScan", {"Passive", "Event", "I/O Intr", "1 second"});
  ++image_.root().menu_list.count;
  EXPECT_EQ(read(), Periods());
}

TEST_F(ScanMenuOfIoc, ThereAreNotMoreThanABoundAllows) {
  std::vector<std::string> choices{"Passive", "Event", "I/O Intr"};
  for (int i = 1; i < 1000; ++i) choices.push_back(std::to_string(i));
  image_.add_menu("menuScan", choices);
  EXPECT_EQ(read().size(), kMostScanPeriods);
}

TEST_F(ScanMenuOfIoc, ChoicesThatCannotBeReadAreLeftOut) {
  image_.add_menu("menuScan", {"Passive", "Event", "I/O Intr", "1 second", "2 second"}).values = 16;
  EXPECT_EQ(read(), Periods());
}

}  // namespace
}  // namespace ioc_exporter::iocs
