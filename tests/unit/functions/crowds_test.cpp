// For which processes a function is attached that several IOCs have.
#include "functions/crowds.h"

#include <gmock/gmock.h>

#include <set>
#include <vector>

#include "functions/bounded_log.h"

namespace ioc_exporter::functions {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr std::uint32_t kOne = 1, kOther = 2;
const Place kPlace{{}, 4096};

std::vector<CrowdMember> members(std::int32_t first, std::int32_t count, std::uint32_t user,
                                 bool attached = true) {
  std::vector<CrowdMember> all;
  for (std::int32_t i = 0; i < count; ++i) all.push_back({{first + i, 1}, user, attached});
  return all;
}

std::vector<CrowdMember> both(std::vector<CrowdMember> all, const std::vector<CrowdMember>& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

class CrowdsTest : public ::testing::Test {
 protected:
  Crowds::Clock::time_point now_ = Crowds::Clock::now();
  Crowds crowds_;
};

TEST_F(CrowdsTest, OneAttachmentIsForAllWhereNoneRests) {
  EXPECT_THAT(crowds_.choose(kPlace, true, members(1, 100, kOne)), ElementsAre(Attachments::kAll));
}

TEST_F(CrowdsTest, FewHaveAnAttachmentEachWhileOneRests) {
  crowds_.note_rest(kPlace, kOne, now_);
  EXPECT_THAT(crowds_.choose(kPlace, true, members(1, 16, kOne)), SizeIs(16));
  EXPECT_FALSE(crowds_.come_together(now_ + Crowds::kApart / 2));
  EXPECT_TRUE(crowds_.come_together(now_ + Crowds::kApart));
  EXPECT_THAT(crowds_.choose(kPlace, true, members(1, 16, kOne)), ElementsAre(Attachments::kAll));
}

// Of another user, who may have as many as he likes.
TEST_F(CrowdsTest, ARestTakesNoFunctionFromOtherUsers) {
  crowds_.note_rest(kPlace, kOne, now_);
  for (const std::int32_t hostile : {17, 1000}) {
    const auto chosen =
        crowds_.choose(kPlace, true, both(members(1, hostile, kOne), members(5000, 9, kOther)));
    for (std::int32_t pid = 5000; pid < 5009; ++pid)
      EXPECT_THAT(chosen, Contains(iocs::IocId{pid, 1}));
    EXPECT_LE(chosen.size(), Crowds::kMostApart);
  }
  // More than can have one each: then the attachment for all stays.
  const auto many = both(members(1, 17, kOne), members(5000, 17, kOther));
  EXPECT_THAT(crowds_.choose(kPlace, true, many), ElementsAre(Attachments::kAll));
  const Place elsewhere{{}, 8192};
  EXPECT_THAT(crowds_.choose(elsewhere, true, members(1, 17, kOne)),
              ElementsAre(Attachments::kAll));
}

TEST_F(CrowdsTest, OfAUserWithARestSomeAreLeft) {
  crowds_.note_rest(kPlace, kOne, now_);
  EXPECT_THAT(crowds_.choose(kPlace, true, members(1, 40, kOne)), SizeIs(Crowds::kMostApart));
}

// Each is for one process: those that are there stay, and a user does not take the last of them.
TEST_F(CrowdsTest, PointersHaveNoAttachmentForAll) {
  EXPECT_THAT(crowds_.choose(kPlace, false, members(1, 3, kOne)), SizeIs(3));
  const auto chosen =
      crowds_.choose(kPlace, false,
                     both(members(1, 40, kOne, false),
                          both(members(100, 2, kOne), members(200, 1, kOther, false))));
  EXPECT_THAT(chosen, Contains(iocs::IocId{101, 1}));
  EXPECT_THAT(chosen, Contains(iocs::IocId{200, 1}));
  EXPECT_LE(chosen.size(), Crowds::kMostApart);
}

TEST(BoundedLogTest, TenThousandTextsAreFewLines) {
  BoundedLog lines;
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 10'000; ++i) lines.warn("attach it at " + std::to_string(i));
  const std::string all =
      ::testing::internal::GetCapturedStdout() + ::testing::internal::GetCapturedStderr();
  const auto count = static_cast<std::uint64_t>(std::ranges::count(all, '\n'));
  EXPECT_GE(count, BoundedLog::kMostLines);
  EXPECT_LE(count, 3 * BoundedLog::kMostLines);  // the minute may end meanwhile
}

}  // namespace
}  // namespace ioc_exporter::functions
