#include "records/memory/memory_watch.h"

#include <gmock/gmock.h>

#include <array>
#include <cmath>

#include "iocs/memory/base_layout.h"
#include "support/value_of.h"
#include "unit/iocs/database_image.h"
#include "unit/iocs/variables_image.h"

namespace ioc_exporter::records {
namespace {

using namespace iocs;

using testing::HasSubstr;

class ScanLists : public testing::Test {
 protected:
  ScanLists() : memory_(iocs::own_memory()) {
    image_.add("nPeriodic", periods_);
    image_.add("papPeriodic", array_);
    for (std::size_t i = 0; i < lists_.size(); ++i) pointers_[i] = address_of(&lists_[i]);
    lists_[0] = list(10, 7, 0);
    lists_[1] = list(0.1, 23, 5);
  }

  static layout::PeriodicScanList list(double period, std::int32_t records,
                                       std::uint64_t overruns) {
    static const char kName[] = ".1 second";
    layout::PeriodicScanList raw{};
    raw.scan_list.list.count = records;
    raw.scan_list.list.first = records > 0 ? address_of(&raw) : 0;
    raw.period = period;
    raw.name = address_of(kName);
    raw.overruns = overruns;
    return raw;
  }

  std::vector<ScanListSample> read() {
    return value_of(read_scan_lists(*memory_, image_.places()));
  }
  std::string failure() { return error_of(read_scan_lists(*memory_, image_.places())); }

  std::unique_ptr<iocs::ProcMemory> memory_;
  VariablesImage image_;
  std::array<layout::PeriodicScanList, 2> lists_{};
  std::array<std::uint64_t, 3> pointers_{};  // the last is null: no period
  std::uint64_t array_ = address_of(pointers_.data());
  std::int32_t periods_ = 3;
};

TEST_F(ScanLists, SortedByPeriod) {
  const auto lists = read();
  ASSERT_EQ(lists.size(), 2u);
  EXPECT_EQ(lists[0].period, "0.1");
  EXPECT_EQ(lists[0].records, 23u);
  EXPECT_EQ(lists[0].overruns, 5u);
  EXPECT_EQ(lists[1].period, "10");
  EXPECT_EQ(lists[1].records, 7u);
  EXPECT_EQ(lists[1].overruns, 0u);
}

TEST_F(ScanLists, BeforeOverrunsWereCounted) {
  for (layout::PeriodicScanList& old : lists_) old.name = 2;  // scanCtl
  const auto lists = read();
  ASSERT_EQ(lists.size(), 2u);
  EXPECT_EQ(lists[0].overruns, std::nullopt);
  EXPECT_EQ(lists[0].records, 23u);
}

TEST_F(ScanLists, APeriodThatIsThereTwiceIsOneSeries) {
  lists_[0] = list(0.1, 7, 3);
  const auto lists = read();
  EXPECT_EQ(only(lists).records, 30u);
  EXPECT_EQ(only(lists).overruns, 8u);
}

TEST_F(ScanLists, NoneBeforeIocInit) {
  array_ = 0;
  EXPECT_TRUE(read().empty());
  periods_ = 0;
  EXPECT_TRUE(read().empty());
}

TEST_F(ScanLists, ImpossibleValuesAreErrorsInWords) {
  periods_ = 257;
  EXPECT_EQ(failure(), "nPeriodic is 257");
  periods_ = 3;
  array_ = 12;
  EXPECT_EQ(failure(), "papPeriodic is 0xc");
  array_ = address_of(pointers_.data());
  pointers_[2] = 9;
  EXPECT_EQ(failure(), "a scan list is at 0x9");
  pointers_[2] = 4096;
  EXPECT_THAT(failure(), HasSubstr("read memory at 0x1000"));
  pointers_[2] = 0;
  for (const double period : {0.0, -1.0, std::nan(""), 2e9, 4e-320}) {
    lists_[0].period = period;
    EXPECT_THAT(failure(), HasSubstr("a scan list's period is ")) << period;
  }
  lists_[0].period = 10;
  lists_[0].scan_list.list.count = -1;
  EXPECT_EQ(failure(), "scan list of 10 s: -1 records announced");
  lists_[0].scan_list.list.count = 0;  // but it has a first one
  EXPECT_EQ(failure(), "scan list of 10 s: 0 records announced");
  image_.remove("papPeriodic");
  EXPECT_EQ(failure(), "no symbol papPeriodic was found");
}

}  // namespace
}  // namespace ioc_exporter::records
