#include "base/helper.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace ioc_exporter {
namespace {

constexpr std::uint32_t kOpen = 1, kRefuse = 2, kNothing = 3, kReadOne = 4;

Result<UniqueFd> serve(const HelperRequest& request, const UniqueFd& file) {
  if (request.what == kNothing) return UniqueFd();
  if (request.what == kRefuse)
    return error_from_errno(ESRCH, "look for " + std::to_string(request.pid));
  char byte = 0;
  // Whoever holds the other end of the pipe decides when this is answered.
  if (request.what == kReadOne && ::read(file.get(), &byte, 1) < 0) return last_error("read");
  return UniqueFd(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
}

std::shared_ptr<Helper> started() {
  auto helper = Helper::start({"test-helper", [] { return Result<void>(); }, serve});
  EXPECT_TRUE(helper) << helper.error().message();
  return helper ? *helper : nullptr;
}

bool has_ended(pid_t pid) {
  return ::waitpid(pid, nullptr, 0) == pid || ::kill(pid, 0) != 0;
}

TEST(Helper, AnswersWithADescriptorNothingOrAnError) {
  const auto helper = started();
  const auto opened = helper->ask({.what = kOpen});
  ASSERT_TRUE(opened && *opened);
  char byte = 1;
  EXPECT_EQ(::read(opened->get(), &byte, 1), 1);
  EXPECT_EQ(byte, 0);
  const auto nothing = helper->ask({.what = kNothing});
  EXPECT_TRUE(nothing && !*nothing);
  const auto refused = helper->ask({.what = kRefuse, .pid = 812});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, std::errc::no_such_process);
  EXPECT_EQ(refused.error().context, "look for 812");
}

TEST(Helper, GivesUpOnWhatHangsAndGoesOnWhenItIsDone) {
  const auto helper = started();
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  const UniqueFd out(pipe[0]), in(pipe[1]);
  const auto late = helper->ask({.what = kReadOne}, out.get(), std::chrono::milliseconds(50));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, std::errc::timed_out);
  const auto meanwhile = helper->ask({.what = kOpen});
  ASSERT_FALSE(meanwhile);
  EXPECT_EQ(meanwhile.error().code, std::errc::timed_out);
  ASSERT_EQ(::write(in.get(), "x", 1), 1);
  Result<UniqueFd> after = helper->ask({.what = kNothing});
  while (!after) after = helper->ask({.what = kNothing});
  EXPECT_FALSE(*after);  // its own answer, not the late one
}

TEST(Helper, ARequestThatHangsDelaysNoOtherChannel) {
  const auto helper =
      *Helper::start({"test-helper", [] { return Result<void>(); }, serve,
                      [](const HelperRequest& one) { return one.what == kReadOne; }});
  const auto other = *helper->open_channel();
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  const UniqueFd out(pipe[0]), in(pipe[1]);
  EXPECT_FALSE(helper->ask({.what = kReadOne}, out.get(), std::chrono::milliseconds(50)));
  const auto opened = other->ask({.what = kOpen});
  EXPECT_TRUE(opened && *opened);
  ASSERT_EQ(::write(in.get(), "x", 1), 1);
  Result<UniqueFd> after = helper->ask({.what = kNothing});
  while (!after) after = helper->ask({.what = kNothing});
  EXPECT_FALSE(*after);
}

TEST(Helper, EndsWithItsOwnerAndIsMissedWhenItEnds) {
  auto helper = started();
  EXPECT_FALSE(helper->is_gone());
  const pid_t pid = helper->pid();
  helper.reset();
  EXPECT_TRUE(has_ended(pid));
  const auto killed = started();
  ::kill(killed->pid(), SIGKILL);
  EXPECT_TRUE(has_ended(killed->pid()));
  EXPECT_TRUE(killed->is_gone());
  EXPECT_FALSE(killed->ask({.what = kNothing}));
}

TEST(Helper, DoesNotRunUnconfined) {
  const auto helper = Helper::start(
      {"test-helper", [] { return Result<void>(error_in_words("give up rights: no")); }, serve});
  ASSERT_FALSE(helper);
  EXPECT_EQ(helper.error().message(), "start the helper process test-helper: give up rights: no");
}

}  // namespace
}  // namespace ioc_exporter
