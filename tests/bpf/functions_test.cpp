// Described functions: exact counts of a driver's functions, in this process.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "elf/function_entry.h"
#include "functions/watch.h"
#include "support/value_of.h"
#include "tools/driver.h"

namespace ioc_exporter::functions {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using Clock = FunctionWatch::Clock;
constexpr std::size_t kMostApart = probes::Policy().most_in_processes;

// Calls by "function{labels}", and failures by "function{labels}/result".
using Counts = std::map<std::string, std::uint64_t>;

class Functions : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to load BPF programs";
    object_.emplace(value_of(FunctionsObject::load(server_, nullptr)));
  }

  // `text`: the list below `functions:`, each with the driver as its file.
  void describe(const std::string& text, double budget = 0) {
    watch_.reset();
    budget_.emplace(budget);
    std::string yaml = "functions:\n";
    for (std::size_t at = 0; at < text.size();) {
      const auto end = text.find('\n', at);
      yaml += "  - {file: '.*/libtest_driver.so', " + text.substr(at, end - at) + "}\n";
      at = end == std::string::npos ? text.size() : end + 1;
    }
    auto all = value_of(parse_functions(yaml, "test.yml"));
    take_out_unusable(all);
    descriptions_ = std::make_shared<const Descriptions>(std::move(all));
    watch_ = std::make_unique<FunctionWatch>(*object_, descriptions_, *budget_);
    finder_ = std::make_unique<FunctionFinder>(std::make_shared<iocs::ProcessReader>(RootedFs()),
                                               descriptions_);
    look();
  }
  // At this process, and at others.
  void look() {
    std::vector<WatchedIoc> all = others_;
    all.push_back({{::getpid(), 1}, serial_, kNumber, "IOC", state_of(left_alone_)});
    watch_->follow(all);
    auto pointers = watch_->pointers();
    for (const WatchedIoc& ioc : all)
      watch_->take(ioc.id, ioc.serial, value_of(finder_->find(ioc.id, pointers[ioc.id.pid])));
    watch_->tick(now_);
    // A tick has little time to attach, and after a slow place the others of its file wait.
    const auto waits = [](const FunctionState& one) {
      return one.state.empty() || one.state.ends_with(": attaching takes too long");
    };
    for (int i = 0; i < 100 && std::ranges::any_of(watch_->states(), waits); ++i) {
      now_ += std::chrono::milliseconds(500);
      watch_->tick(now_);
    }
  }
  void pass(std::chrono::seconds time) {
    now_ += time;
    do {
      watch_->tick(now_);
      budget_->decide(now_);
    } while (budget_->is_due(now_));
  }
  static probes::IocState state_of(bool left_alone) {
    return {false, left_alone ? "off: the IOC is stopped" : ""};
  }
  void add(pid_t pid) {
    const auto number = static_cast<std::uint32_t>(others_.size()) + kNumber + 1;
    others_.push_back({{pid, 1}, 1, number, "other" + std::to_string(number)});
  }
  std::uint64_t held(std::uint32_t table) const { return object_->maps().caps.held(table); }
  std::string state() const {
    std::string all;
    for (const FunctionState& one : watch_->states()) all += one.name + ": " + one.state + "\n";
    return all;
  }
  std::vector<FunctionSample> samples() const { return watch_->samples({{kNumber, "IOC"}}); }
  Counts counts(std::uint32_t number = kNumber) const {
    Counts all;
    for (const FunctionSample& one : watch_->samples({{number, "IOC"}})) {
      std::string key = one.function + "{";
      for (std::size_t i = 0; i < one.labels.size(); ++i)
        key += (i > 0 ? "," : "") + one.labels[i].second;
      key += "}";
      all[key] += one.calls;
      for (const auto& [result, count] : one.failures) all[key + "/" + result] += count;
    }
    return all;
  }
  std::uint64_t timed(const std::string& name) const {
    std::uint64_t count = 0;
    for (const FunctionSample& one : samples())
      if (one.function == name && one.durations)
        count += std::accumulate(one.durations->buckets.begin(), one.durations->buckets.end(),
                                 std::uint64_t{0});
    return count;
  }
  double seconds(const std::string& name) const {
    double sum = 0;
    for (const FunctionSample& one : samples())
      if (one.function == name && one.durations)
        sum += static_cast<double>(one.durations->sum_ns) * 1e-9;
    return sum;
  }
  // Whether its calls are counted now.
  bool is_watched(const std::string& name, std::uint32_t number = kNumber) const {
    for (const WatchedSample& one : watch_->watched({{number, "IOC"}}))
      if (one.function == name) return one.is_counted;
    return false;
  }
  std::uint64_t drops(iocx_function_drop reason) const {
    return value_of(
        kernel::sum_per_cpu_counters(object_->maps().drops, IOCX_FUNCTION_DROPS))[reason];
  }

  static constexpr std::uint32_t kNumber = 7;
  FunctionsServer server_;
  std::optional<FunctionsObject> object_;
  std::shared_ptr<const Descriptions> descriptions_;
  std::optional<probes::Budget> budget_;
  std::unique_ptr<FunctionWatch> watch_;
  std::unique_ptr<FunctionFinder> finder_;
  Clock::time_point now_ = Clock::now();
  bool left_alone_ = false;
  std::uint64_t serial_ = 1;
  std::vector<WatchedIoc> others_;
  device device_{{0, 0}, "/dev/hidraw0"};
  driver_block driver_{&device_, {}, {0, "PORT1", 0}};
};

// Another process with the driver, which calls its functions when it is told to. With `end_main`,
// by another thread than its main one, which has ended.
class Other {
 public:
  explicit Other(bool end_main = false) {
    EXPECT_EQ(::pipe2(orders_, O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(answers_, O_CLOEXEC), 0);
    pid = ::fork();
    if (pid == 0 && end_main) {
      std::thread([this] { serve(); }).detach();
      ::syscall(SYS_exit, 0);  // of this thread alone
    }
    if (pid == 0) serve();
    while (end_main && value_of(RootedFs().read("/proc/" + std::to_string(pid) + "/maps")) != "") {
    }
  }
  ~Other() {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    for (const int fd : {orders_[0], orders_[1], answers_[0], answers_[1]}) ::close(fd);
  }
  enum Order : char { sum = 's', submit = 'p', process = 'P', look = 'l' };
  // Of `look`: the first byte of driver_submit()'s callee, as the processor sees it.
  unsigned char tell(Order order, int times = 1) const {
    unsigned char answer = 0;
    for (int i = 0; i < times; ++i) {
      EXPECT_EQ(::write(orders_[1], &order, 1), 1);
      EXPECT_EQ(::read(answers_[0], &answer, 1), 1);
    }
    return answer;
  }
  pid_t pid = 0;

 private:
  [[noreturn]] void serve() const {
    user of{};
    driver_set_process(&of, 0);
    const long numbers[] = {1};
    for (char order = 0; ::read(orders_[0], &order, 1) == 1;) {
      if (order == sum) driver_sum(numbers, 1);
      if (order == submit) driver_submit(&of);
      if (order == process) of.process(&of);
      const auto byte = *reinterpret_cast<const unsigned char*>(of.process);
      if (::write(answers_[1], &byte, 1) != 1) break;
    }
    ::_exit(0);
  }
  int orders_[2] = {}, answers_[2] = {};
};

TEST_F(Functions, AProcessWithoutItsMainThreadIsLookedAt) {
  const Other other(true);
  add(other.pid);
  describe("name: sum, symbol: driver_sum, timed: true");
  other.tell(Other::sum, 23);
  EXPECT_EQ(counts(kNumber + 1)["sum{}"], 23u);
  EXPECT_TRUE(is_watched("sum", kNumber + 1));
}

TEST_F(Functions, CallsAreCountedByWhatTheirArgumentsSay) {
  describe(
      "name: write, symbol: driver_write, labels: {port: 'arg0+8 -> string[32]', reason: 'arg1 -> "
      "int', device: '[[arg0-32]+16] -> string[64]'}");
  EXPECT_THAT(counts(), IsEmpty());
  for (int i = 0; i < 23; ++i) driver_write(&driver_.port, 4);
  for (int i = 0; i < 29; ++i) driver_write(&driver_.port, -4);
  driver_block second{&device_, {}, {0, "PORT2", 0}};
  for (int i = 0; i < 31; ++i) driver_write(&second.port, 4);
  EXPECT_THAT(counts(), ElementsAre(Pair("write{PORT1,-4,/dev/hidraw0}", 29),
                                    Pair("write{PORT1,4,/dev/hidraw0}", 23),
                                    Pair("write{PORT2,4,/dev/hidraw0}", 31)));
  EXPECT_EQ(drops(IOCX_FUNCTION_DROP_LABEL_UNREAD), 0u);
}

TEST_F(Functions, OneWithoutLabelsHasASeriesFromTheBeginningOn) {
  describe("name: sum, symbol: driver_sum");
  EXPECT_THAT(counts(), ElementsAre(Pair("sum{}", 0)));
  const long numbers[] = {1, 2, 3};
  for (int i = 0; i < 23; ++i) driver_sum(numbers, 3);
  EXPECT_THAT(counts(), ElementsAre(Pair("sum{}", 23)));
}

TEST_F(Functions, HostileArgumentsGiveEmptyLabelsAndAreCounted) {
  describe(
      "name: write, symbol: driver_write, labels: {port: 'arg0+8 -> string[32]', device: "
      "'[[arg0-32]+16] -> string[64]', channels: '[arg0+40] -> short'}");
  driver_.port.channels = -3;
  for (const std::uintptr_t wild :
       {std::uintptr_t{0}, std::uintptr_t{8}, ~std::uintptr_t{0} - 64, std::uintptr_t{1} << 63})
    driver_write(reinterpret_cast<port*>(wild), -1);
  EXPECT_THAT(counts(), ElementsAre(Pair("write{,,}", 4)));
  EXPECT_EQ(drops(IOCX_FUNCTION_DROP_LABEL_UNREAD), 12u);
  std::fill_n(driver_.port.name, 32, 'x');  // no end
  device_.name = reinterpret_cast<const char*>(1);
  driver_write(&driver_.port, 1);
  EXPECT_EQ(counts()["write{,,-3}"], 1u);
  EXPECT_EQ(drops(IOCX_FUNCTION_DROP_LABEL_UNREAD), 14u);
  device_.name = "a\x02z";  // does not print
  std::fill_n(driver_.port.name, 32, '\0');
  driver_.port.name[0] = '\xff';
  driver_write(&driver_.port, 1);
  EXPECT_EQ(counts()["write{,,-3}"], 2u);
  EXPECT_EQ(watch_->series().unprinted(), 1u);
}

TEST_F(Functions, ATextAtTheEndOfMemoryIsReadToItsEnd) {
  describe("name: write, symbol: driver_write, labels: {port: 'arg0+8 -> string[32]'}");
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  auto* const memory = static_cast<char*>(
      ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ::munmap(memory + page, page);
  char* const text = memory + page - 3;
  std::copy_n("ab", 3, text);
  driver_write(reinterpret_cast<port*>(text - 8), 1);
  text[2] = 'c';  // the memory ends before the text
  driver_write(reinterpret_cast<port*>(text - 8), 1);
  EXPECT_THAT(counts(), ElementsAre(Pair("write{ab}", 1), Pair("write{}", 1)));
  ::munmap(memory, page);
}

TEST_F(Functions, TooManyValuesEndInOneSeries) {
  describe("name: write, symbol: driver_write, labels: {reason: 'arg1 -> int'}");
  for (int i = 0; i < 200'000; ++i) driver_write(&driver_.port, i);
  const Counts all = counts();
  std::uint64_t sum = 0;
  for (const auto& [key, count] : all) sum += count;
  EXPECT_EQ(sum, 200'000u);
  EXPECT_GT(all.at("write{(other)}"), 190'000u);
  EXPECT_GT(all.size(), 500u);
  EXPECT_LE(all.size(), FunctionsObject::kSeries);
  EXPECT_EQ(all.at("write{(other)}"), drops(IOCX_FUNCTION_DROP_SERIES_FULL));
  // Those that have their series keep them.
  driver_write(&driver_.port, 1);
  EXPECT_EQ(counts().at("write{1}"), 2u);
}

TEST_F(Functions, TimesFromTheEntryToTheEnds) {
  describe("name: status, symbol: driver_status, timed: true");
  EXPECT_EQ(state(), "status: counted\n");
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < 23; ++i) driver_status(i, 1000);
  const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - begun;
  EXPECT_EQ(timed("status"), 23u);
  EXPECT_GT(seconds("status"), 0.023);
  EXPECT_LT(seconds("status"), whole.count());
}

TEST_F(Functions, TheLastCallIsInTheTime) {
  describe("name: relay, symbol: driver_relay, timed: true");
  for (int i = 0; i < 23; ++i) driver_relay(1000);
  EXPECT_EQ(timed("relay"), 23u);
  EXPECT_GT(seconds("relay"), 0.023);
}

TEST_F(Functions, NestedCallsEndInTheirOrder) {
  describe("name: nested, symbol: driver_nested, timed: true");
  for (int i = 0; i < 23; ++i) driver_nested(2);
  EXPECT_EQ(timed("nested"), 69u);
  driver_nested(19);  // deeper than there is room: counted all the same
  EXPECT_EQ(counts()["nested{}"], 89u);
  EXPECT_EQ(timed("nested") + drops(IOCX_FUNCTION_DROP_CALL_FULL), 89u);
  for (int i = 0; i < 23; ++i) driver_nested(2);
  EXPECT_EQ(timed("nested") + drops(IOCX_FUNCTION_DROP_CALL_FULL), 158u);
}

TEST_F(Functions, ResultsFromArgumentsAndFromTheReturnValue) {
  describe(
      "name: status, symbol: driver_status, result: 'return -> enum[ok, late]'\n"
      "name: write, symbol: driver_write, result: return -> int, success: 0.., timed: true\n"
      "name: reason, symbol: driver_write, result: arg1 -> int, success: [1, 2]");
  for (int i = 0; i < 30; ++i) driver_status(i, 0);
  for (int i = 0; i < 23; ++i) driver_write(&driver_.port, i - 3);
  Counts all = counts();
  EXPECT_EQ(all["status{}"], 30u);
  EXPECT_EQ(all["status{}/late"], 10u);
  EXPECT_EQ(all["status{}/2"], 10u);
  EXPECT_FALSE(all.contains("status{}/ok"));
  EXPECT_EQ(all["write{}"], 23u);
  EXPECT_EQ(all["write{}/-1"], 3u);
  EXPECT_EQ(all["reason{}"], 23u);
  EXPECT_EQ(all["reason{}/-3"], 1u);
  EXPECT_FALSE(all.contains("reason{}/1"));
  EXPECT_EQ(timed("write"), 23u);
}

TEST_F(Functions, ExceptionsPassAndTheNextCallsAreTimed) {
  describe(
      "name: read, symbol: 'driver::Port::read', timed: true\n"
      "name: twice, symbol: 'driver::read_twice', timed: true");
  int caught = 0;
  for (int i = 0; i < 40; ++i) caught += driver_throw(i);
  EXPECT_EQ(caught, 20);
  Counts all = counts();
  EXPECT_EQ(all["read{}"], 60u);
  EXPECT_EQ(all["twice{}"], 40u);
  EXPECT_EQ(timed("read"), 40u);
  EXPECT_EQ(timed("twice"), 20u);
  EXPECT_EQ(drops(IOCX_FUNCTION_DROP_CALL_FULL), 0u);
}

TEST_F(Functions, GlobsAndCxxNames) {
  describe(
      "name: state, symbol: 'driver_state_*', labels: {state: 'symbol -> "
      "match[driver_state_(.*)]'}\n"
      "name: set, symbol: 'driver::Port::setValue(int)'\n"
      "name: any, symbol: 'driver::Port::setValue'\n"
      "name: twice, symbol: 'driver_other.c:twice'");
  EXPECT_THAT(state(), HasSubstr("any: 2 functions are called so"));
  for (int i = 0; i < 23; ++i) {
    driver_state_idle();
    if (i % 2) driver_state_busy();
    driver_set_value(i);
    driver_set_real(i);
    driver_twice(i);
    if (i < 7) driver_other_twice(i);
  }
  EXPECT_THAT(counts(), ElementsAre(Pair("set{}", 23), Pair("state{busy}", 11),
                                    Pair("state{idle}", 23), Pair("twice{}", 7)));
}

TEST_F(Functions, TheTimeBetweenFunctionsWithTheSameKey) {
  describe(
      "name: queued, symbol: driver_queue, key: arg0\n"
      "name: started, symbol: driver_start, key: arg0, since: queued\n"
      "name: done, symbol: driver_done, key: arg0, since: started");
  std::vector<int> requests(23);
  for (int& one : requests) driver_queue(&one);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const auto started = std::chrono::steady_clock::now();
  for (int& one : requests) driver_start(&one);
  for (int& one : requests) driver_done(&one);
  const std::chrono::duration<double> most = std::chrono::steady_clock::now() - started;
  driver_start(&requests[0]);  // nobody has queued it again
  EXPECT_EQ(timed("started"), 23u);
  EXPECT_EQ(timed("done"), 23u);
  EXPECT_EQ(timed("queued"), 0u);
  EXPECT_GT(seconds("started"), 23 * 0.005);
  EXPECT_LE(seconds("done"), 23 * most.count()) << "not since it was queued";
  EXPECT_EQ(drops(IOCX_FUNCTION_DROP_START_UNKNOWN), 1u);
  EXPECT_EQ(object_->maps().caps.held(IOCX_FUNCTION_HELD_STARTS), 1u);  // that of `done`
}

TEST_F(Functions, FunctionsThatOnlyAPointerLeadsTo) {
  describe(
      "name: submit, symbol: driver_submit\n"
      "name: process, symbol: {pointer: '[arg0+32]', of: submit}, timed: true\n"
      "name: again, symbol: {pointer: '[arg0+32]', of: submit}");
  user of{};
  driver_set_process(&of, 0);
  driver_submit(&of);
  of.process = reinterpret_cast<void (*)(user*)>(&of);  // no code
  driver_submit(&of);
  driver_set_process(&of, 0);
  of.process = reinterpret_cast<void (*)(user*)>(reinterpret_cast<std::uintptr_t>(of.process) + 1);
  driver_submit(&of);  // no begin of a function
  look();
  driver_set_process(&of, 0);
  for (int i = 0; i < 23; ++i) of.process(&of);
  EXPECT_THAT(counts(),
              ElementsAre(Pair("again{}", 23), Pair("process{}", 23), Pair("submit{}", 3)));
  EXPECT_EQ(timed("process"), 23u);
}

constexpr const char* kPointer =
    "name: submit, symbol: driver_submit\n"
    "name: process, symbol: {pointer: '[arg0+32]', of: submit}, timed: true";

// An IOC chooses by its pointers what is probed: in itself, and in nobody else.
TEST_F(Functions, APointerLeadsToAFunctionOfItsProcessOnly) {
  const Other other;
  const unsigned char before = other.tell(Other::look);
  add(other.pid);
  describe(kPointer);
  user of{};
  driver_set_process(&of, 0);
  driver_submit(&of);
  look();
  EXPECT_EQ(other.tell(Other::process, 23), before);  // no breakpoint
  for (int i = 0; i < 29; ++i) of.process(&of);
  EXPECT_EQ(counts()["process{}"], 29u);
  EXPECT_FALSE(counts(kNumber + 1).contains("process{}"));
  other.tell(Other::submit);
  look();
  EXPECT_NE(other.tell(Other::process, 31), before);
  EXPECT_EQ(counts(kNumber + 1)["process{}"], 31u);
  EXPECT_EQ(counts()["process{}"], 29u);
}

TEST_F(Functions, TooManyPointersAreNotFollowed) {
  describe(std::string(kPointer) + "\nname: again, symbol: {pointer: '[arg0+32]', of: submit}");
  user of{};
  const auto submit = [&of](std::uintptr_t first, std::uintptr_t last) {
    for (std::uintptr_t i = first; i <= last; ++i) {
      of.process = reinterpret_cast<void (*)(user*)>(i);
      driver_submit(&of);
    }
  };
  submit(501, 550);
  EXPECT_THAT(watch_->pointers()[::getpid()], SizeIs(2 * 50));
  EXPECT_EQ(watch_->pointers_over(), 0u);
  submit(1, 500);
  for (int look = 0; look < 2; ++look) {
    const auto seen = watch_->pointers()[::getpid()];
    EXPECT_THAT(seen, SizeIs(2 * FunctionWatch::kMostPointers));
    EXPECT_THAT(seen, ::testing::Contains(PointerSeen{550, 1}));  // it came first
    EXPECT_EQ(watch_->pointers_over(), 550 - FunctionWatch::kMostPointers);
  }
}

TEST_F(Functions, PointersOfAnotherProgramInTheProcessAreForgotten) {
  describe(kPointer);
  user of{};
  driver_set_process(&of, 0);
  driver_submit(&of);
  EXPECT_THAT(watch_->pointers()[::getpid()], SizeIs(1));
  serial_ = 2;
  look();
  EXPECT_THAT(watch_->pointers()[::getpid()], IsEmpty());
  EXPECT_EQ(held(IOCX_FUNCTION_HELD_POINTERS), 0u);
  driver_submit(&of);
  EXPECT_THAT(watch_->pointers()[::getpid()], SizeIs(1));
}

// The kernel passes all of a place's attachments at each hit.
TEST_F(Functions, FewProcessesHaveAnAttachmentEachAtOnePlace) {
  std::vector<std::unique_ptr<Other>> others;
  for (std::uint32_t i = 0; i < 20; ++i) {
    others.push_back(std::make_unique<Other>());
    add(others.back()->pid);
  }
  describe(
      "name: submit, symbol: driver_submit\n"
      "name: process, symbol: {pointer: '[arg0+32]', of: submit}");
  const std::uint64_t before = watch_->attachments();
  for (const auto& other : others) other->tell(Other::submit);
  look();
  EXPECT_EQ(watch_->attachments() - before, kMostApart);
  EXPECT_EQ(watch_->refused(), 20 - kMostApart);
  EXPECT_THAT(state(), HasSubstr("process: not counted: there is no room for it"));
  std::size_t watched = 0;
  for (std::uint32_t i = 0; i < 20; ++i) {
    others[i]->tell(Other::process, 23);
    const std::uint32_t number = kNumber + 1 + i;
    if (!is_watched("process", number)) continue;
    ++watched;
    EXPECT_EQ(counts(number)["process{}"], 23u);
  }
  EXPECT_EQ(watched, kMostApart);
}

TEST_F(Functions, OneThatIsDescribedTwiceCountsInBoth) {
  std::string text;
  for (const char* name : {"a", "b", "c", "d", "e"})
    text += std::string("name: ") + name + ", symbol: driver_sum, timed: true\n";
  describe(text);
  const long numbers[] = {1};
  for (int i = 0; i < 23; ++i) driver_sum(numbers, 1);
  EXPECT_THAT(counts(), ElementsAre(Pair("a{}", 23), Pair("b{}", 23), Pair("c{}", 23),
                                    Pair("d{}", 23)));  // the fifth is one too many
  EXPECT_EQ(timed("d"), 23u);
  // Two traps a call, and all that is counted there.
  pass(std::chrono::seconds(1));
  SelfSamples self;
  watch_->add_overhead(self);
  const auto [emulated, stepped, after_pause, beside, nops] = kernel::hit_cost();
  EXPECT_GT(self.ioc_overhead.at(0).seconds, 23 * (2 + 2 * 4) * emulated * 0.999);
  EXPECT_LT(self.ioc_overhead.at(0).seconds, 23 * (2 * stepped + 2 * 4 * emulated) * 1.001);
}

TEST_F(Functions, AnIocThatIsLeftAloneHasNoProbes) {
  describe("name: sum, symbol: driver_sum, timed: true");
  const long numbers[] = {1};
  driver_sum(numbers, 1);
  left_alone_ = true;
  look();
  EXPECT_EQ(watch_->attachments(), 0u);
  EXPECT_THAT(counts(), IsEmpty());
  driver_sum(numbers, 1);
  left_alone_ = false;
  look();
  driver_sum(numbers, 1);
  EXPECT_THAT(counts(), ElementsAre(Pair("sum{}", 2)));
  EXPECT_EQ(timed("sum"), 2u);
}

TEST_F(Functions, WhileAllAreDetachedEachSaysSo) {
  describe("name: sum, symbol: driver_sum");
  iocs::LiveIoc live;
  WatchedIoc own{{::getpid(), 1}, serial_, kNumber, "IOC", probes::state_of(live, true)};
  watch_->follow({own});
  watch_->tick(now_);
  EXPECT_EQ(watch_->attachments(), 0u);
  EXPECT_EQ(state(), "sum: off: all probes are detached\n");
}

TEST_F(Functions, OneThatIsCalledTooOftenIsSwitchedOffAlone) {
  describe("name: sum, symbol: driver_sum\nname: write, symbol: driver_write", 0.001);
  const long numbers[] = {1};
  for (int look = 0; look < 5; ++look) {
    for (int i = 0; i < 20'000; ++i) driver_sum(numbers, 1);
    driver_write(&driver_.port, 1);
    pass(std::chrono::seconds(1));
  }
  EXPECT_THAT(state(), HasSubstr("sum: off: above --overhead.budget"));
  EXPECT_THAT(counts(), ElementsAre(Pair("write{}", 5)));
  EXPECT_FALSE(is_watched("sum"));
  EXPECT_TRUE(is_watched("write"));
  // A trial without its probes says nothing.
  const auto holder = iocx_holder_of(kNumber);
  std::size_t taken = 0;
  while (object_->maps().caps.take(IOCX_FUNCTION_HELD_PLACES, holder)) ++taken;
  pass(probes::Budget::kFirstPause);
  for (; taken > 0; --taken) object_->maps().caps.give(IOCX_FUNCTION_HELD_PLACES, holder);
  pass(probes::Budget::kFirstPause);
  EXPECT_THAT(state(), HasSubstr("sum: off: above --overhead.budget")) << "the rest is longer";
  pass(probes::Budget::kFirstPause);
  EXPECT_THAT(state(), Not(HasSubstr("off: ")));
  EXPECT_FALSE(is_watched("sum")) << "it is on trial";
  pass(std::chrono::seconds(1));
  EXPECT_TRUE(is_watched("sum"));
}

TEST_F(Functions, AnIocThatEndsAsItsFunctionIsSwitchedOffIsForgotten) {
  describe("name: sum, symbol: driver_sum", 0.001);
  const long numbers[] = {1};
  for (int look = 0; look < 5 && !budget_->is_due(now_); ++look) {
    for (int i = 0; i < 20'000; ++i) driver_sum(numbers, 1);
    now_ += std::chrono::seconds(1);
    watch_->tick(now_);
    budget_->decide(now_);
  }
  ASSERT_TRUE(budget_->is_due(now_)) << "it is to be off";
  watch_->follow({});
  watch_->tick(now_);
  EXPECT_EQ(state(), "");
}

// Another IOC cannot turn it off for all, by calls or by a rest.
TEST_F(Functions, OneThatIsOffInAnIocIsCountedInTheOthers) {
  const Other other;
  add(other.pid);
  describe("name: sum, symbol: driver_sum, timed: true", 0.001);
  const long numbers[] = {1};
  for (int look = 0; look < 5; ++look) {
    for (int i = 0; i < 20'000; ++i) driver_sum(numbers, 1);
    pass(std::chrono::seconds(1));
  }
  EXPECT_FALSE(is_watched("sum"));
  EXPECT_TRUE(is_watched("sum", kNumber + 1));
  EXPECT_THAT(state(), HasSubstr("sum: off: above --overhead.budget"));
  other.tell(Other::sum, 23);
  EXPECT_EQ(counts(kNumber + 1)["sum{}"], 23u);
  left_alone_ = true;
  look();
  other.tell(Other::sum, 29);
  EXPECT_EQ(counts(kNumber + 1)["sum{}"], 52u);
}

// More than can have an attachment each: that for all stays, and the one that rests is not counted.
TEST_F(Functions, OneThatRestsAmongManyIsNotCountedAlone) {
  std::vector<std::unique_ptr<Other>> others;
  for (std::uint32_t i = 0; i < 18; ++i) {
    others.push_back(std::make_unique<Other>());
    add(others.back()->pid);
  }
  others_[0].state = state_of(true);
  describe("name: sum, symbol: driver_sum, timed: true");
  const long numbers[] = {1};
  for (int i = 0; i < 23; ++i) driver_sum(numbers, 1);
  for (const auto& other : others) other->tell(Other::sum, 29);
  EXPECT_EQ(counts()["sum{}"], 23u);
  for (std::uint32_t i = 1; i < 18; ++i) EXPECT_EQ(counts(others_[i].number)["sum{}"], 29u);
  EXPECT_FALSE(counts(others_[0].number).contains("sum{}"));
  EXPECT_THAT(state(), HasSubstr("sum: off: the IOC is stopped"));
  others_[0].state = {};
  look();
  others[0]->tell(Other::sum, 31);
  EXPECT_EQ(counts(others_[0].number)["sum{}"], 31u);
}

TEST_F(Functions, OneIocDoesNotTakeAllPlaces) {
  describe("name: any, symbol: 'driver_*'");
  add(1'000'000'000);  // there is no such process
  const WatchedIoc own{{::getpid(), 1}, 1, kNumber, "IOC"};
  const FunctionsFound found = value_of(finder_->find(own.id, {}));
  FunctionsFound crowded = found;  // one maps the file a great many times
  for (FileInIoc& file : crowded.files)
    for (std::uint64_t i = 0; i < 2'000; ++i)
      file.code.push_back(
          {i << 32, (i << 32) + file.code[0].end - file.code[0].start, file.code[0].offset});
  const auto take = [&](const WatchedIoc& ioc, const FunctionsFound& files) {
    watch_->take(ioc.id, ioc.serial, files);
  };
  watch_->follow({own, others_[0]});
  take(own, found);
  take(others_[0], crowded);
  watch_->tick(now_);
  EXPECT_FALSE(is_watched("any", kNumber + 1));
  EXPECT_TRUE(is_watched("any"));
  EXPECT_THAT(state(), HasSubstr("any: not counted: there is no room for it"));
  const std::uint64_t refused = watch_->refused();
  EXPECT_GT(refused, 0u);
  watch_->take(own.id, 1, found);
  watch_->tick(now_);
  EXPECT_EQ(watch_->refused(), refused);  // each is counted once
  // Once there is room for them they are counted at once, and not any more once there is none.
  for (int i = 0; i < 2; ++i) {
    take(others_[0], found);
    watch_->tick(now_);
    EXPECT_TRUE(is_watched("any", kNumber + 1));
    take(others_[0], crowded);
    watch_->tick(now_);
    EXPECT_FALSE(is_watched("any", kNumber + 1));
    EXPECT_THAT(state(), HasSubstr("any: not counted: there is no room for it"));
  }
  watch_->follow({});
  watch_->tick(now_);
  watch_->keep({});
  for (const std::uint32_t table :
       {IOCX_FUNCTION_HELD_PROBED, IOCX_FUNCTION_HELD_PLACES, IOCX_FUNCTION_HELD_OWN})
    EXPECT_EQ(held(table), 0u) << table;
}

TEST_F(Functions, AFileThatCannotBeReadThisTimeStaysAsItWas) {
  describe("name: sum, symbol: driver_sum");
  const WatchedIoc own{{::getpid(), 1}, 1, kNumber, "IOC"};
  FunctionsFound unread = value_of(finder_->find(own.id, {}));
  const MappedFile mapped = unread.files[0].mapped;
  unread.unread = {{mapped, "it hangs", "sum"}};
  unread.files.clear();
  const long numbers[] = {1};
  for (int look = 0; look < 2; ++look) {
    watch_->take(own.id, 1, unread);
    watch_->tick(now_);
    for (int i = 0; i < 23; ++i) driver_sum(numbers, 1);
  }
  EXPECT_EQ(counts()["sum{}"], 46u);
  EXPECT_THAT(state(), HasSubstr("sum: it hangs"));
  unread.unread.clear();
  watch_->take(own.id, 1, unread);  // it is not mapped any more
  watch_->tick(now_);
  EXPECT_EQ(watch_->attachments(), 0u);
}

// dlclose(), and dlopen() of another library, to the same address.
TEST_F(Functions, AnotherFileAtTheSameAddressIsNotTheFormerOne) {
  describe("name: sum, symbol: driver_sum");
  const WatchedIoc own{{::getpid(), 1}, 1, kNumber, "IOC"};
  const FunctionsFound found = value_of(finder_->find(own.id, {}));
  const MappedFile& mapped = found.files.at(0).mapped;
  MappedFile path = mapped, device = mapped, inode = mapped;
  path.path = "/elsewhere.so";
  device.device = "fe:77";
  ++inode.inode;
  for (const MappedFile& other : {path, device, inode}) {
    watch_->take(own.id, 1, found);
    watch_->tick(now_);
    EXPECT_EQ(watch_->attachments(), 1u);
    watch_->take(own.id, 1, {.files = {}, .unread = {{other, "it hangs", "sum"}}});
    watch_->tick(now_);
    EXPECT_EQ(watch_->attachments(), 0u) << other.path;
  }
}

// Symbols of files that come and go.
TEST_F(Functions, RowsOfForgottenFunctionsAreUsedAgain) {
  describe(
      "name: state, symbol: 'driver_state_*', labels: {state: 'symbol -> "
      "match[driver_state_(.*)]'}");
  FunctionSeries series(*object_, descriptions_);
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 1500; ++i) {
      const DescribedFunction found{
          0, "driver_state_" + std::to_string(round * 10'000 + i), {}, {}};
      ASSERT_TRUE(series.of(kNumber, found)) << round << " " << i;
    }
    series.keep({});
  }
  EXPECT_EQ(series.used(), 0u);
}

TEST_F(Functions, ANewWatchFindsNothingOfTheFormerOne) {
  const std::string text =
      "name: queued, symbol: driver_queue, key: arg0\n"
      "name: started, symbol: driver_start, key: arg0, since: queued\n"
      "name: nested, symbol: driver_nested, timed: true";
  describe(text);
  driver_queue(&driver_);
  driver_nested(1);
  EXPECT_EQ(held(IOCX_FUNCTION_HELD_STARTS), 1u);
  describe(text);  // the same process, in the same epoch
  EXPECT_EQ(held(IOCX_FUNCTION_HELD_STARTS), 0u);
  EXPECT_EQ(held(IOCX_FUNCTION_HELD_THREADS), 0u);
  driver_start(&driver_);
  EXPECT_EQ(timed("started"), 0u);
  EXPECT_EQ(drops(IOCX_FUNCTION_DROP_START_UNKNOWN), 1u);
}

TEST_F(Functions, ThreadsCountTogether) {
  describe("name: status, symbol: driver_status, timed: true, labels: {number: 'arg0 -> int'}");
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 997; ++i) driver_status(i % 7, 0);
    });
  threads.clear();
  std::uint64_t sum = 0;
  for (const auto& [key, count] : counts()) sum += count;
  EXPECT_EQ(sum, 8u * 997);
  EXPECT_EQ(timed("status"), 8u * 997);
}

TEST_F(Functions, WhatEndedLeavesNothingBehind) {
  describe(
      "name: write, symbol: driver_write, timed: true, labels: {port: 'arg0+8 -> string[32]', "
      "reason: arg1 -> int}, result: return -> int\nname: q, symbol: driver_queue, key: "
      "arg0\nname: s, symbol: driver_start, key: arg0, since: q");
  for (int i = 0; i < 23; ++i) driver_write(&driver_.port, -i);
  driver_queue(&driver_);
  const auto& maps = object_->maps();
  EXPECT_EQ(maps.caps.held(IOCX_FUNCTION_HELD_SERIES), 23u);
  EXPECT_GT(maps.caps.held(IOCX_FUNCTION_HELD_RESULTS), 0u);
  EXPECT_EQ(maps.caps.held(IOCX_FUNCTION_HELD_THREADS), 1u);
  watch_->follow({});
  watch_->tick(now_);
  watch_->keep({});
  now_ += FunctionWatch::kSweep;
  watch_->tick(now_);
  for (const std::uint32_t table : {IOCX_FUNCTION_HELD_SERIES, IOCX_FUNCTION_HELD_RESULTS,
                                    IOCX_FUNCTION_HELD_THREADS, IOCX_FUNCTION_HELD_STARTS})
    EXPECT_EQ(maps.caps.held(table), 0u) << table;
  EXPECT_EQ(watch_->series().used(), 0u);
  EXPECT_THAT(value_of(maps.by_key.keys()), IsEmpty());
  EXPECT_THAT(value_of(maps.places.keys()), IsEmpty());
}

TEST_F(Functions, TheHelperAttachesWhereAFunctionBeginsOnly) {
  const UniqueFd file(::open(TEST_DRIVER, O_RDONLY | O_CLOEXEC));
  const auto found = value_of(elf::find_functions(
      file.get(), "it",
      std::vector{elf::FunctionWish{elf::FunctionWish::Kind::name, "driver_sum"}}));
  const std::uint64_t at = only(found.found).code.file_offset;
  const elf::Attacher& attacher = object_->attacher();
  const auto ask = [&](std::uint32_t what, std::uint64_t offset, std::uint64_t begin) {
    HelperRequest request{.what = what, .pid = kernel::kAllProcesses, .offset = offset};
    request.more[0] = begin;
    return error_of(attacher.serve(request, file));
  };
  const std::uint64_t entry = elf::entry_of(file.get(), only(found.found).code).offset;
  for (std::uint64_t offset = at - 8; offset < at + 16; ++offset)
    EXPECT_EQ(ask(20, offset, at).empty(), offset == at || offset == entry) << offset - at;
  EXPECT_THAT(ask(20, at + 1, at), HasSubstr("has no entry there"));
  EXPECT_THAT(ask(20, at + 1, at + 1), HasSubstr("name no function there"));
  EXPECT_THAT(ask(21, at + 1, at), HasSubstr("does not end there"));
  EXPECT_THAT(ask(22, at, at), HasSubstr("no such request"));
}

}  // namespace
}  // namespace ioc_exporter::functions
