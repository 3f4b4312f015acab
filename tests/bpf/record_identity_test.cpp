// Which file a probe lands in: the one that was opened, and what the kernel has one inode of once.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "record_process_fixture.h"

namespace ioc_exporter::records {
namespace {

// A folder with two overlays on one lower folder that holds the fake IOC: two containers of an
// image. In a mount namespace that this process enters for good.
class Overlays {
 public:
  Overlays() {
    if (::unshare(CLONE_NEWNS) != 0) return;
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return;
    char name[] = "/tmp/overlays-XXXXXX";
    if (::mkdtemp(name) == nullptr) return;
    folder_ = name;
    if (::mount("none", name, "tmpfs", 0, nullptr) != 0) return;
    std::filesystem::create_directory(folder_ / "lower");
    std::filesystem::copy_file(FAKE_IOC, folder_ / "lower/ioc");
    made_ = overlay("one") && overlay("two");
  }
  ~Overlays() {
    if (folder_.empty()) return;
    ::umount2(folder_.c_str(), MNT_DETACH);
    ::rmdir(folder_.c_str());
  }
  bool made() const { return made_; }
  std::string ioc(const char* mount) const { return folder_ / mount / "ioc"; }

 private:
  bool overlay(const std::string& name) const {
    for (const char* part : {"", ".upper", ".work"})
      std::filesystem::create_directory(folder_ / (name + part));
    const std::string at = folder_ / name;
    const std::string options = "lowerdir=" + (folder_ / "lower").string() + ",upperdir=" + at +
                                ".upper,workdir=" + at + ".work";
    return ::mount("none", at.c_str(), "overlay", 0, options.c_str()) == 0;
  }

  std::filesystem::path folder_;
  bool made_ = false;
};

class RecordIdentityTest : public RecordProcessTest {};

TEST_P(RecordIdentityTest, TwoOverlaysOfOneFileAreOneLibrary) {
  const Overlays overlays;
  if (!overlays.made()) GTEST_SKIP() << "no overlay file system";
  std::vector<std::unique_ptr<FakeIoc>> iocs;
  std::vector<std::uint32_t> slots;
  for (std::size_t i = 0; i < 2 * kIocs; ++i) {
    iocs.push_back(std::make_unique<FakeIoc>(overlays.ioc(i % 2 == 0 ? "one" : "two")));
    slots.push_back(watch(*iocs.back()));
  }
  const auto key = [&](std::size_t i) { return iocs[i]->target(1, true).code->id(); };
  EXPECT_NE(key(0), key(1)) << "stat(2) tells two files";
  EXPECT_EQ(probe_->use()->attachments, 1u);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    iocs[i]->ask("call 1 " + std::to_string(23 + i));
    EXPECT_EQ(all_processed(slots[i]), 23 + i);
    EXPECT_EQ(probe_->hits()->at(slots[i]).entries, 23 + i);
  }
}

TEST_P(RecordIdentityTest, AFileThatItsOverlayHasCopiedSinceIsRefused) {
  const Overlays overlays;
  if (!overlays.made()) GTEST_SKIP() << "no overlay file system";
  FakeIoc before(overlays.ioc("one"));
  const RecordTarget target = target_of(before);
  ASSERT_EQ(::chmod(overlays.ioc("one").c_str(), 0700), 0);
  EXPECT_THAT(error_of(probe_->watch(target)),
              testing::HasSubstr("its overlay file system has made a copy of it since"));
  FakeIoc after(overlays.ioc("one"));
  const auto copied = watch(after);
  after.ask("call 1 19");
  EXPECT_EQ(all_processed(copied), 19u);
}

// Those that are still watched when one of them is taken off are dead: the last ones are attached
// each by itself all the same.
TEST_P(RecordIdentityTest, IocsThatEndTogetherDoNotKeepTheOthersFromTheirProbes) {
  auto [iocs, slots] = watch_many();
  EXPECT_EQ(probe_->use()->attachments, 1u);
  iocs.erase(iocs.begin() + 1, iocs.end());
  // As many stay watched as are attached one by one: one of them alive.
  const std::size_t left = kRecordPolicy.fewest_together;
  for (std::size_t i = kIocs - 1; i >= left; --i) probe_->unwatch({slots[i]});
  EXPECT_EQ(probe_->use()->attachments, 1u);
  iocs.front()->ask("call 1 31");
  EXPECT_EQ(all_processed(slots.front()), 31u);
  FakeIoc unwatched;
  unwatched.ask("call 1 5");
  EXPECT_EQ(probe_->counts()->at(slots.front()).hits.entries, 31u);
}

INSTANTIATE_TEST_SUITE_P(ByEnds, RecordIdentityTest, ::testing::Values(Mode{true, true, true}));

}  // namespace
}  // namespace ioc_exporter::records
