// Names, scan menus and versions, as an IOC's memory has them.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <tuple>

#include "base/unique_fd.h"
#include "database_image.h"
#include "iocs/find/base_version.h"
#include "iocs/memory/database_reader.h"
#include "iocs/memory/record_names.h"

namespace ioc_exporter::iocs {
namespace {

using Periods = std::vector<std::string>;
using namespace std::string_literals;

std::string found(const RecordNames& names, std::string_view name) {
  const RecordIdentity* record = names.find(name);
  return record == nullptr ? "none" : record->name;
}

TEST(RecordNames, FindsRecordsAndAliases) {
  auto database = std::make_shared<Database>();
  database->types = {"ao"};
  for (int i = 0; i < 211; ++i)
    database->records.push_back(
        {0x1000u + static_cast<unsigned>(i) * 8u, std::string("R").append(std::to_string(i)), 0});
  database->records.push_back({0x9000, "caf_", 0});  // Latin-1 in the IOC's memory
  database->aliases = {{"Alias", 7}, {"R300", 0}};
  const RecordNames names(database);
  for (const RecordIdentity& record : database->records)
    EXPECT_EQ(names.find(record.name), &record);
  EXPECT_EQ(found(names, "Alias"), "R7");
  EXPECT_EQ(found(names, "R300"), "R0");
  EXPECT_EQ(found(names, "caf\xE9"), "caf_");
  for (const char* name : {"", "R", "R211", "alias", "Aliases", "R7.VAL"})
    EXPECT_EQ(found(names, name), "none") << name;
}

TEST(RecordNames, AnEmptyDatabaseHasNone) {
  EXPECT_EQ(found(RecordNames(std::make_shared<Database>()), "R"), "none");
}

TEST(PvName, IsRecordAndField) {
  using Case = std::tuple<const char*, const char*, const char*>;
  for (const auto& [pv, record, field] : {
           Case{"REC", "REC", "VAL"},
           Case{"REC.VAL", "REC", "VAL"},
           Case{"REC.VAL$", "REC", "VAL"},
           Case{"REC.DESC$", "REC", "DESC"},
           Case{"REC.", "REC", "VAL"},
           Case{"REC.$", "REC", "VAL"},
           Case{"REC.{\"dbnd\":{\"abs\":1.5}}", "REC", "VAL"},
           Case{"REC.VAL{\"arr\":{\"s\":2}}", "REC", "VAL"},
           Case{"REC.DESC${\"ts\":{}}", "REC", "DESC"},
           Case{"REC.VAL[1:3]", "REC", "VAL"},
           Case{"REC.[1]", "REC", "VAL"},
           Case{"REC.A1_b", "REC", "A1_b"},
           // Without a '.' all of it is the record's name.
           Case{"REC{\"dbnd\":{}}", "REC{\"dbnd\":{}}", "VAL"},
           Case{"a:b-c<d>;[e]", "a:b-c<d>;[e]", "VAL"},
           Case{".VAL", "", "VAL"},
           Case{"", "", "VAL"},
       }) {
    const PvName name = parse_pv_name(pv);
    EXPECT_EQ(name.record, record) << pv;
    EXPECT_EQ(name.field, field) << pv;
  }
}

TEST(PvName, KnowsLongStrings) {
  for (const char* pv : {"REC.DESC$", "REC.$", R"(REC.VAL$[0:3])", "SR{PS:1}I.DESC$"})
    EXPECT_TRUE(parse_pv_name(pv).is_long_string()) << pv;
  for (const char* pv : {"REC.DESC", R"(REC.{"dbnd":{"m":"$"}})", "SR{PS:1}I$"})
    EXPECT_FALSE(parse_pv_name(pv).is_long_string()) << pv;
}

TEST(BaseVersion, InBytes) {
  EXPECT_EQ(base_version_in("\0EPICS R3.15.9\0"s), "3.15.9");
  EXPECT_EQ(base_version_in("\0EPICS 7.0.10.1-DEV\0"s), "7.0.10.1-DEV");
  EXPECT_EQ(base_version_in("@(#)EPICS R3.14.12.8-rc1, Common Utilities"), "3.14.12.8-rc1");
  EXPECT_EQ(base_version_in("EPICS Release %s. EPICS V4 EPICS "), "");
  EXPECT_EQ(base_version_in("needs EPICS 3.14.0 or later\0EPICS 7.0.8\0"s), "7.0.8");
}

TEST(BaseVersion, InAFileAlsoAcrossChunks) {
  for (const std::size_t before : {0x1000u, (1u << 20) - 5u, (1u << 20) + 1u}) {
    const UniqueFd fd(::memfd_create("library", MFD_CLOEXEC));
    const std::string bytes = std::string(before, '\0') + "EPICS R3.15.9\0tail"s;
    ASSERT_EQ(::write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    const elf::LoadSegment all{0, 0, bytes.size(), false};
    EXPECT_EQ(base_version_of_file(fd.get(), std::span(&all, 1)), "3.15.9") << before;
    const elf::LoadSegment beyond{0, 0, ~0ull, true};
    EXPECT_EQ(base_version_of_file(fd.get(), std::span(&beyond, 1)), "3.15.9") << before;
    const elf::LoadSegment other{0, 0, 100, false};
    EXPECT_EQ(base_version_of_file(fd.get(), std::span(&other, 1)), "") << before;
  }
}

TEST(BaseVersion, FromALibrarysName) {
  EXPECT_EQ(base_version_from_name("/x/libdbCore.so.3.15.9"), "3.15.9");
  EXPECT_EQ(base_version_from_name("/x/libdbCore.so.3.23.1"), "database 3.23.1");
  EXPECT_EQ(base_version_from_name("/x/libdbCore.so.7.0.10.99.0"), "7.0.10");
  EXPECT_EQ(base_version_from_name("/x/libdbCore.so"), "");
  EXPECT_EQ(base_version_from_name("/x.so.7.0/softIoc"), "");
}

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
