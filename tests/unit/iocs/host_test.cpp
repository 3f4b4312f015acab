// Looks at processes that end later than the loop waits.
#include "iocs/host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <latch>
#include <thread>

#include "proc_tree.h"
#include "support/value_of.h"

namespace ioc_exporter::iocs {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kLongEnough{60};

// Of an IOC that has not loaded its database.
class ZeroMemory : public Memory {
 public:
  Result<std::size_t> read_some(std::uint64_t, std::span<std::byte> into) override {
    std::ranges::fill(into, std::byte{0});
    return into.size();
  }
};

// Answers when it is let.
class HeldReader : public ProcessReader {
 public:
  explicit HeldReader(RootedFs fs) : ProcessReader(std::move(fs)) {}
  void let() { let_.count_down(); }
  void let_memory() { let_memory_.count_down(); }

  Result<std::string> text(pid_t pid, const std::string& path, std::size_t limit) override {
    let_.wait();
    return ProcessReader::text(pid, path, limit);
  }
  Result<std::unique_ptr<Memory>> memory(const IocId& id) override {
    let_memory_.wait();
    asked_.push_back(id.pid);
    if (id.pid == 7) return error_in_words("it does not answer");
    return std::unique_ptr<Memory>(std::make_unique<ZeroMemory>());
  }
  void begin(pid_t pid) override { begun_.push_back(pid); }
  const std::vector<pid_t>& asked() const { return asked_; }
  const std::vector<pid_t>& begun() const { return begun_; }

 private:
  std::latch let_{1};
  std::latch let_memory_{1};
  std::vector<pid_t> asked_, begun_;
};

class HostOnTree : public testing::Test, public ProcTree {
 protected:
  HostOnTree() : reader_(std::make_shared<HeldReader>(RootedFs(folder_.path()))) {
    Host::Options options;
    options.reader = reader_;
    host_.emplace(RootedFs(folder_.path()), std::move(options));
  }
  void poll(milliseconds patience) {
    const auto looked = host_->poll(now_ += seconds(1), patience);
    EXPECT_TRUE(looked) << looked.error().message();
    host_->apply(now_);
  }

  std::shared_ptr<HeldReader> reader_;
  std::optional<Host> host_;
  Host::Clock::time_point now_ = Host::Clock::now();
};

// A look ended before the next poll() began, and so did that poll's own look before it ended: the
// findings of the first look were lost for as long as the IOC ran.
TEST_F(HostOnTree, AnIocOfALookThatEndedLateIsKept) {
  put({.pid = 7});
  poll(milliseconds(0));
  EXPECT_TRUE(host_->view()->facts().empty());
  reader_->let();
  poll(kLongEnough);
  EXPECT_EQ(only(host_->view()->facts()).pid, 7);
}

// Pages that answer late, or a database that is large.
TEST_F(HostOnTree, AMemoryThatIsBeingReadDelaysNoLook) {
  put({.pid = 7});
  put({.pid = 8});
  reader_->let();
  poll(kLongEnough);
  ASSERT_EQ(host_->view()->live().size(), 2u);
  host_->read_databases(now_, milliseconds(0));
  EXPECT_TRUE(host_->is_busy());
  remove(7);
  poll(kLongEnough);
  EXPECT_EQ(host_->view()->live().size(), 1u);
  EXPECT_TRUE(host_->is_busy());
  reader_->let_memory();
}

TEST_F(HostOnTree, AMemoryThatCouldNotBeReadIsReadAfterTheOthers) {
  put({.pid = 7});
  put({.pid = 8});
  reader_->let();
  reader_->let_memory();
  poll(kLongEnough);
  for (int round = 0; round < 2; ++round) {
    host_->read_databases(now_, kLongEnough);
    host_->apply_databases(now_);
    now_ += seconds(1);
  }
  EXPECT_THAT(reader_->asked(), testing::ElementsAre(7, 8, 8, 7));
}

TEST_F(HostOnTree, TheReaderIsToldOfEachNewProcess) {
  put({.pid = 7, .start = 1});
  reader_->let();
  poll(kLongEnough);
  poll(kLongEnough);
  put({.pid = 7, .start = 2});
  poll(kLongEnough);
  EXPECT_THAT(reader_->begun(), testing::ElementsAre(7, 7));
}

TEST_F(HostOnTree, IsBusyUntilTheLookIsTakenOver) {
  put({.pid = 7});
  poll(milliseconds(0));
  EXPECT_TRUE(host_->is_busy());
  reader_->let();
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_TRUE(host_->is_busy()) << "whether or not the look is over by now";
  poll(kLongEnough);
  EXPECT_FALSE(host_->is_busy());
}

}  // namespace
}  // namespace ioc_exporter::iocs
