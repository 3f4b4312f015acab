// Planned rows against the attachments of a fake kernel.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "fake_kernel.h"
#include "probes/one_or_all.h"

namespace ioc_exporter::probes {
namespace {

using std::chrono::seconds;

constexpr Policy kRecords{.whole_iocs = true, .most_apart = 4, .fewest_together = 2};
constexpr Policy kFunctions{};
constexpr Policy kServers{.whole_iocs = true,
                          .most_apart = SIZE_MAX,
                          .fewest_together = SIZE_MAX,
                          .most_beside_off = SIZE_MAX};
constexpr std::int32_t kAllPid = kernel::kAllProcesses;

class EngineTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(kernel_.wrong_switches, 0); }
  void use(const Policy& policy) { engine_.emplace(kernel_.attaching(), policy); }
  // Two functions of each of these processes.
  std::vector<ProbeRow> rows(std::int32_t first, std::int32_t last) const {
    std::vector<ProbeRow> rows;
    for (std::int32_t pid = first; pid <= last; ++pid)
      for (const std::uint32_t program : {0u, 1u}) rows.push_back(library_.row(pid, program));
    return rows;
  }
  bool tick() {
    engine_->tick(kernel_.hooks(), now_);
    return !engine_->is_due(now_);
  }
  void want(std::vector<ProbeRow> rows) {
    engine_->want(std::move(rows));
    EXPECT_TRUE(tick());
  }
  void set_state(std::int32_t pid, const IocState& state) {
    states_[{pid, 1}] = state;
    engine_->follow(states_);
  }
  void leave_alone(std::int32_t pid, const std::string& why = "off: it is stopped") {
    set_state(pid, {false, why});
    tick();
  }
  // From now on each hit in these processes must count once, at each step.
  void watch_each_step(std::int32_t first, std::int32_t last) {
    kernel_.at_each_step = [=, this] {
      for (std::int32_t pid = first; pid <= last; ++pid)
        for (const std::uint32_t program : {0u, 1u}) {
          ++steps_;
          wrong_ += kernel_.counted(pid, program) != 1;
        }
    };
  }
  void expect_each_step_counted() {
    EXPECT_GT(std::exchange(steps_, 0), 0);
    EXPECT_EQ(std::exchange(wrong_, 0), 0);
  }
  unsigned by(std::int32_t pid) const { return engine_->counted_by({{pid, 1}}); }

  TemporaryFolder folder_;
  FakeLibrary library_{folder_};
  FakeKernel kernel_;
  std::optional<Engine> engine_;
  std::map<iocs::IocId, IocState> states_;
  Engine::Clock::time_point now_ = Engine::Clock::now();
  int steps_ = 0, wrong_ = 0;
};

TEST_F(EngineTest, WhatIsWantedIsAttachedAndTheRestTakenOff) {
  use(kRecords);
  want(rows(1, 2));
  EXPECT_EQ(kernel_.count(1), 2u);
  EXPECT_EQ(kernel_.count(2), 2u);
  EXPECT_EQ(by(1), IOCX_ATTACH_PROCESS);
  want({library_.row(2, 0)});
  EXPECT_EQ(kernel_.count(1), 0u);
  EXPECT_EQ(kernel_.count(2), 1u);
  EXPECT_EQ(kernel_.counted_by.at({1, 1}), 0u);
  EXPECT_EQ(kernel_.counted_by.at({2, 1}), IOCX_ATTACH_PROCESS);
  want({});
  EXPECT_TRUE(kernel_.attachments().empty());
}

TEST_F(EngineTest, ASwitchLosesNoHitAndCountsNoneTwice) {
  use(kRecords);
  want(rows(1, 4));
  EXPECT_EQ(engine_->beside({{2, 1}}), 3u) << "others that a hit passes";
  watch_each_step(1, 4);
  want(rows(1, 5));
  EXPECT_EQ(engine_->beside({{2, 1}}), 0u);
  EXPECT_EQ(kernel_.attachments().size(), 2u);
  EXPECT_EQ(kernel_.count(kAllPid), 2u);
  expect_each_step_counted();
  watch_each_step(1, 3);
  want(rows(1, 3));  // between the limits it stays as it is
  EXPECT_EQ(kernel_.count(kAllPid), 2u);
  watch_each_step(1, 2);
  want(rows(1, 2));
  EXPECT_EQ(kernel_.count(kAllPid), 0u);
  EXPECT_EQ(kernel_.count(2), 2u);
  expect_each_step_counted();
}

TEST_F(EngineTest, ASwitchThatFailsLeavesWhatCounts) {
  use(kRecords);
  want(rows(1, 4));
  kernel_.refused[kAllPid] = {std::make_error_code(std::errc::permission_denied), "attach"};
  watch_each_step(1, 4);
  engine_->want(rows(1, 5));
  tick();
  EXPECT_EQ(by(1), IOCX_ATTACH_PROCESS);
  EXPECT_EQ(by(5), 0u);
  tick();
  EXPECT_EQ(by(5), IOCX_ATTACH_PROCESS) << "its own can be attached";
  EXPECT_EQ(kernel_.attachments().size(), 10u);
  kernel_.refused.clear();
  now_ += seconds(60);
  EXPECT_TRUE(engine_->is_due(now_));
  tick();
  EXPECT_EQ(by(1), IOCX_ATTACH_ALL);
  EXPECT_EQ(by(5), IOCX_ATTACH_ALL);
  EXPECT_EQ(kernel_.attachments().size(), 2u);
  expect_each_step_counted();
}

// As many as may be have their own; the others say why.
TEST_F(EngineTest, WhereThereCanBeNoneForAllSomeHaveTheirOwn) {
  for (const Policy& policy : {kRecords, kFunctions}) {
    use(policy);
    kernel_.refused[kAllPid] = {std::make_error_code(std::errc::permission_denied), "attach"};
    engine_->want(rows(1, 20));
    for (int i = 0; i < 3; ++i) tick();
    EXPECT_EQ(kernel_.attachments().size(), 32u);
    EXPECT_EQ(kernel_.count(16), 2u);
    Member last{{20, 1}};
    if (!policy.whole_iocs) last.place = engine_->place_of(library_.file, library_.kFunctions[0]);
    EXPECT_NE(engine_->why_not(last).find("Permission denied"), std::string::npos);
    EXPECT_FALSE(engine_->is_due(now_)) << "until it is tried again";
    const int tries = kernel_.tries;
    engine_->want(rows(2, 20));
    tick();
    EXPECT_EQ(kernel_.count(17), 2u) << "there is room again";
    EXPECT_EQ(kernel_.tries, tries + 2);
    kernel_.refused.clear();
    now_ += seconds(60);
    tick();
    EXPECT_EQ(kernel_.attachments().size(), 2u);
    EXPECT_EQ(kernel_.count(kAllPid), 2u);
    engine_.reset();
  }
}

// Another one wants to see what the function returns: what counts its calls stays.
TEST_F(EngineTest, OtherProgramsAtTheEndsLeaveTheEntryOn) {
  use(kFunctions);
  ProbeRow row = library_.row(1);
  row.ending = library_.ending;
  want({row});
  EXPECT_EQ(kernel_.count(kAllPid, true), 1u);
  const int tries = kernel_.tries;
  row.ends_program = 1;
  want({row});
  EXPECT_EQ(kernel_.count(kAllPid, true), 1u);
  EXPECT_EQ(kernel_.tries, tries + 1) << "those at the ends alone were made anew";
}

TEST_F(EngineTest, OneThatCannotSwitchKeepsTheOthers) {
  use(kRecords);
  want(rows(1, 5));
  watch_each_step(1, 2);
  kernel_.refused[1] = {std::make_error_code(std::errc::not_enough_memory), "attach"};
  want(rows(1, 2));
  EXPECT_EQ(by(1), IOCX_ATTACH_ALL);
  EXPECT_EQ(by(2), IOCX_ATTACH_ALL);
  EXPECT_EQ(kernel_.count(2), 2u);
  EXPECT_FALSE(engine_->has({2, 1}, 0)) << "what is attached does not count yet";
  EXPECT_TRUE(engine_->error_of({{1, 1}}));
  want(rows(1, 3));
  EXPECT_EQ(by(3), IOCX_ATTACH_ALL);
  EXPECT_EQ(kernel_.count(2), 0u);
  kernel_.refused.clear();
  now_ += seconds(60);
  want(rows(1, 2));
  EXPECT_EQ(by(1), IOCX_ATTACH_PROCESS);
  EXPECT_EQ(by(2), IOCX_ATTACH_PROCESS);
  EXPECT_TRUE(engine_->has({2, 1}, 0));
  EXPECT_EQ(kernel_.count(kAllPid), 0u);
  expect_each_step_counted();
}

TEST_F(EngineTest, OneThatHasEndedKeepsNoneAndIsNotCounted) {
  use(kRecords);
  want(rows(1, 5));
  kernel_.refused[1] = {std::make_error_code(std::errc::no_such_process), "attach"};
  want(rows(1, 2));
  EXPECT_EQ(by(1), 0u);
  EXPECT_EQ(kernel_.counted_by.at({1, 1}), 0u);
  EXPECT_EQ(by(2), IOCX_ATTACH_PROCESS);
  EXPECT_EQ(kernel_.count(kAllPid), 0u);
}

TEST_F(EngineTest, WhereTheRoomRefusesASwitchTheIocIsOff) {
  use(kRecords);
  want(rows(1, 4));
  kernel_.may_count = [](unsigned attach) -> Result<Switched> {
    if (attach == IOCX_ATTACH_ALL) return error_in_words("it is full");
    return Switched::now;
  };
  want(rows(1, 5));
  EXPECT_EQ(by(1), 0u);
  EXPECT_EQ(kernel_.counted_by.at({1, 1}), 0u);
  EXPECT_EQ(engine_->why_not({{1, 1}}), "it is full");
  EXPECT_TRUE(kernel_.attachments().empty());
  kernel_.may_count = [](unsigned) { return Switched::now; };
  now_ += seconds(60);
  tick();
  EXPECT_EQ(by(1), IOCX_ATTACH_ALL);
}

// The kernel puts no breakpoint into that process alone.
TEST_F(EngineTest, AnEndedMainThreadBringsOneForAll) {
  use(kServers);
  want(rows(1, 9));
  EXPECT_EQ(kernel_.attachments().size(), 18u);
  watch_each_step(1, 9);
  set_state(7, {true, ""});
  tick();
  EXPECT_EQ(kernel_.attachments().size(), 2u);
  EXPECT_EQ(by(1), IOCX_ATTACH_ALL);
  expect_each_step_counted();
}

// They have another file in common with one whose main thread has ended.
TEST_F(EngineTest, AnIocHasOneKindOfAttachment) {
  use(kServers);
  const FakeLibrary other(folder_, "/other.so"), third(folder_, "/third.so");
  set_state(1, {true, ""});
  want({library_.row(1), library_.row(2), other.row(2), other.row(3), third.row(4)});
  EXPECT_EQ(kernel_.count(kAllPid), 2u);
  EXPECT_EQ(by(3), IOCX_ATTACH_ALL);
  EXPECT_EQ(by(4), IOCX_ATTACH_PROCESS);
  EXPECT_EQ(engine_->unit_of({1, 1}), engine_->unit_of({3, 1}));
  EXPECT_EQ(engine_->unit_of({4, 1}), 0u);
}

TEST_F(EngineTest, AnIocThatIsLeftAloneHasNone) {
  use(kRecords);
  want(rows(1, 6));
  watch_each_step(2, 6);
  leave_alone(1);
  EXPECT_EQ(kernel_.count(kAllPid), 0u) << "that one would be hit, too";
  EXPECT_EQ(kernel_.count(1), 0u);
  EXPECT_EQ(kernel_.count(2), 2u);
  EXPECT_EQ(engine_->why_not({{1, 1}}), "off: it is stopped");
  expect_each_step_counted();
  leave_alone(1, "");
  EXPECT_EQ(by(1), IOCX_ATTACH_ALL);
  EXPECT_EQ(kernel_.attachments().size(), 2u);
}

TEST_F(EngineTest, AmongManyItIsHitWhileItIsOff) {
  use(kRecords);
  want(rows(1, 20));
  leave_alone(1);
  EXPECT_EQ(kernel_.count(kAllPid), 2u);
  EXPECT_EQ(by(1), 0u);
  EXPECT_TRUE(engine_->is_hit_while_off({1, 1}));
  EXPECT_FALSE(engine_->is_hit_while_off({2, 1}));
}

TEST_F(EngineTest, AnIocApartIsNotHitByWhatOthersWant) {
  use(kRecords);
  want(rows(1, 6));
  watch_each_step(2, 6);
  auto wanted = rows(1, 6);
  wanted.erase(wanted.begin() + 1);
  wanted[0].apart = true;
  want(wanted);
  EXPECT_EQ(kernel_.count(kAllPid), 0u);
  EXPECT_EQ(kernel_.count(1), 1u);
  EXPECT_EQ(kernel_.count(2), 2u);
  expect_each_step_counted();
}

TEST_F(EngineTest, EachPlaceIsForItself) {
  use(kFunctions);
  auto wanted = rows(1, 3);
  wanted[0].off = "off: above --overhead.budget";
  want(wanted);
  EXPECT_EQ(kernel_.count(kAllPid), 1u);
  EXPECT_EQ(kernel_.count(1), 0u);
  EXPECT_EQ(kernel_.count(2), 1u);
  const Place place = engine_->place_of(library_.file, FakeLibrary::kFunctions[0]);
  EXPECT_EQ(engine_->why_not({{1, 1}, place}), "off: above --overhead.budget");
  EXPECT_EQ(engine_->counted_by({{2, 1}, place}), IOCX_ATTACH_PROCESS);
}

TEST_F(EngineTest, WherePointersLeadFewProcessesHaveOne) {
  use(kFunctions);
  auto wanted = rows(1, 20);
  for (ProbeRow& row : wanted) row.only_in_process = true;
  want(wanted);
  EXPECT_EQ(kernel_.count(kAllPid), 0u);
  EXPECT_EQ(kernel_.attachments().size(), 32u);
  const Place place = engine_->place_of(library_.file, FakeLibrary::kFunctions[0]);
  EXPECT_EQ(engine_->why_not({{20, 1}, place}), kNoRoom);
  EXPECT_EQ(engine_->beside({{1, 1}, place}), 15u);
  EXPECT_EQ(engine_->beside({{20, 1}, place}), 0u);
  std::erase_if(wanted, [](const ProbeRow& row) { return row.ioc.pid == 1; });
  want(wanted);
  EXPECT_EQ(kernel_.count(2), 2u);
  EXPECT_EQ(kernel_.count(17), 2u);
}

TEST_F(EngineTest, EndsComeAndGoWhileTheEntryStays) {
  use(kRecords);
  auto with_ends = rows(1, 1);
  with_ends[0].ending = library_.ending;
  want(rows(1, 1));
  watch_each_step(1, 1);
  want(with_ends);
  EXPECT_EQ(kernel_.count(1, true), 1u);
  EXPECT_TRUE(engine_->has({1, 1}, 0));
  want(rows(1, 1));
  EXPECT_EQ(kernel_.count(1, true), 0u);
  EXPECT_EQ(kernel_.count(1), 2u);
  expect_each_step_counted();
}

TEST_F(EngineTest, WhereOneFailsTheIocHasNoneAndTriesAgain) {
  use(kRecords);
  auto wanted = rows(1, 2);
  wanted[3].is_optional = true;
  kernel_.may_count = [](unsigned) -> Result<Switched> { return error_in_words("it is full"); };
  engine_->want(wanted);
  tick();
  EXPECT_TRUE(kernel_.attachments().empty());
  EXPECT_EQ(engine_->why_not({{1, 1}}), "it is full");
  const int tries = kernel_.tries;
  tick();
  EXPECT_EQ(kernel_.tries, tries) << "not before its pause is over";
  kernel_.may_count = [](unsigned) { return Switched::now; };
  now_ += seconds(60);
  tick();
  EXPECT_EQ(by(1), IOCX_ATTACH_PROCESS);
  EXPECT_EQ(kernel_.attachments().size(), 4u);
}

TEST_F(EngineTest, AfterATimeOutItGoesOnFromThere) {
  use(kRecords);
  kernel_.refused[1] = {std::make_error_code(std::errc::timed_out), "attach"};
  kernel_.at_each_step = [&] { kernel_.refused.erase(1); };
  engine_->want({library_.row(1, 0), library_.row(1, 1)});
  tick();
  EXPECT_EQ(by(1), 0u);
  kernel_.refused.clear();
  now_ += seconds(60);
  tick();
  EXPECT_EQ(by(1), IOCX_ATTACH_PROCESS);
}

TEST_F(EngineTest, TheRoomSaysWhenItMayCount) {
  use(kServers);
  auto may = Switched::later;
  kernel_.may_count = [&](unsigned) { return may; };
  engine_->want(rows(1, 1));
  EXPECT_FALSE(tick());
  EXPECT_EQ(kernel_.attachments().size(), 2u);
  EXPECT_EQ(by(1), 0u);
  may = Switched::now;
  EXPECT_TRUE(tick());
  EXPECT_EQ(by(1), IOCX_ATTACH_PROCESS);
}

TEST_F(EngineTest, AnIocThatHasEndedMeanwhileIsNoTrouble) {
  use(kRecords);
  kernel_.refused[1] = {std::make_error_code(std::errc::no_such_process), "attach"};
  for (int i = 0; i < 3; ++i, now_ += seconds(60)) {
    engine_->want(rows(1, 1));
    tick();
  }
  EXPECT_TRUE(kernel_.told.empty());
}

TEST_F(EngineTest, AllAreTakenOffAtTheOperatorsWish) {
  use(kRecords);
  want(rows(1, 9));
  engine_->take_off_all(kernel_.hooks());
  EXPECT_TRUE(kernel_.attachments().empty());
  EXPECT_EQ(kernel_.counted_by.at({9, 1}), 0u);
  tick();
  EXPECT_EQ(kernel_.count(kAllPid), 2u);
}

// By two names, or through two mounts.
TEST_F(EngineTest, OneInodeHasOneAttachmentForAll) {
  use(kFunctions);
  const std::string other = folder_.path("/other.so");
  std::filesystem::create_hard_link(folder_.path("/library.so"), other);
  FakeLibrary same = library_;
  same.file = value_of(
      elf::CodeFile::open(UniqueFd(::open(other.c_str(), O_RDONLY | O_CLOEXEC)), other,
                          {{FakeLibrary::kFunctions[0], 4}, {FakeLibrary::kFunctions[1], 4}}));
  want({library_.row(1), same.row(2)});
  EXPECT_EQ(kernel_.attachments().size(), 1u);
  const FakeLibrary alike(folder_, "/alike.so");
  want({library_.row(1), same.row(2), alike.row(3)});
  EXPECT_EQ(kernel_.attachments().size(), 2u);
}

// Else a host whose IOCs come and go has too many files open at last.
TEST_F(EngineTest, AFileThatIsNotProbedAnyMoreIsClosed) {
  use(kRecords);
  want(rows(1, 1));
  const std::weak_ptr<const elf::CodeFile> file = std::exchange(library_.file, nullptr);
  EXPECT_FALSE(file.expired());
  want({});
  EXPECT_TRUE(file.expired());
}

// The file system gives an inode's number again.
TEST_F(EngineTest, AFileThatNobodyHoldsHasLostItsNumber) {
  SameFiles files;
  const std::uint64_t first = files.number_of(library_.file, 0);
  EXPECT_EQ(files.known(*library_.file), first);
  const auto again = [&] {
    return value_of(elf::CodeFile::open(
        UniqueFd(::open(folder_.path("/library.so").c_str(), O_RDONLY | O_CLOEXEC)), "/library.so",
        {{FakeLibrary::kFunctions[0], 4}}));
  };
  CodeFilePtr second = again();
  EXPECT_EQ(files.number_of(second, 0), first);
  library_.file = nullptr;
  EXPECT_EQ(files.known(*second), first);
  second = nullptr;
  second = again();
  EXPECT_EQ(files.known(*second), 0u);
  EXPECT_NE(files.number_of(second, 0), first);
}

TEST(OneOrAll, BesideOneThatIsOffMoreAreAttachedForThemselves) {
  EXPECT_EQ(one_or_all(kRecords, IOCX_ATTACH_ALL, {.active = 16, .off = 1}), IOCX_ATTACH_PROCESS);
  EXPECT_EQ(one_or_all(kRecords, IOCX_ATTACH_PROCESS, {.active = 17, .off = 1}), IOCX_ATTACH_ALL);
  const UnitState without{.active = 1, .off = 1, .one_without_main_thread = true};
  EXPECT_EQ(one_or_all(kRecords, IOCX_ATTACH_PROCESS, without), IOCX_ATTACH_ALL);
}

}  // namespace
}  // namespace ioc_exporter::probes
