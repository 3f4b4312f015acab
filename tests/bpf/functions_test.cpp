// Described functions: exact counts of a driver's functions, in this process.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "functions/watch.h"
#include "support/value_of.h"
#include "tools/driver.h"

namespace ioc_exporter::functions {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using Clock = FunctionWatch::Clock;

// Calls by "function{labels}", and failures by "function{labels}/result".
using Counts = std::map<std::string, std::uint64_t>;

class Functions : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to load BPF programs";
    object_.emplace(value_of(FunctionsObject::load()));
  }

  // `text`: the list below `functions:`, each with the driver as its file.
  void describe(const std::string& text, double budget = 0) {
    std::string yaml = "functions:\n";
    for (std::size_t at = 0; at < text.size();) {
      const auto end = text.find('\n', at);
      yaml += "  - {file: '.*/libtest_driver.so', " + text.substr(at, end - at) + "}\n";
      at = end == std::string::npos ? text.size() : end + 1;
    }
    auto all = value_of(parse_functions(yaml, "test.yml"));
    problems_ = take_out_unusable(all);
    descriptions_ = std::make_shared<const Descriptions>(std::move(all));
    watch_.reset();
    watch_ = std::make_unique<FunctionWatch>(*object_, descriptions_, budget);
    finder_ = std::make_unique<FunctionFinder>(std::make_shared<iocs::ProcessReader>(RootedFs()),
                                               descriptions_);
    look();
  }
  void look() {
    const WatchedIoc ioc{{::getpid(), 1}, 1, kNumber, 0, "IOC", left_alone_};
    watch_->follow({ioc});
    watch_->take(ioc.id, 1, value_of(finder_->look(ioc.id, watch_->pointers()[ioc.id.pid])));
    watch_->tick(now_);
  }
  std::string state() const {
    std::string all;
    for (const FunctionState& one : watch_->states()) all += one.name + ": " + one.state + "\n";
    return all;
  }
  std::vector<FunctionSample> samples() const { return watch_->samples({{kNumber, "IOC"}}); }
  Counts counts() const {
    Counts all;
    for (const FunctionSample& one : samples()) {
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
  bool is_watched(const std::string& name) const {
    for (const WatchedSample& one : watch_->watched({{kNumber, "IOC"}}))
      if (one.function == name) return one.is_counted;
    return false;
  }
  std::uint64_t drops(iocx_function_drop reason) const {
    return value_of(
        kernel::sum_per_cpu_counters(object_->maps().drops, IOCX_FUNCTION_DROPS))[reason];
  }

  static constexpr std::uint32_t kNumber = 7;
  std::optional<FunctionsObject> object_;
  std::shared_ptr<const Descriptions> descriptions_;
  std::vector<std::string> problems_;
  std::unique_ptr<FunctionWatch> watch_;
  std::unique_ptr<FunctionFinder> finder_;
  Clock::time_point now_ = Clock::now();
  bool left_alone_ = false;
  device device_{{0, 0}, "/dev/hidraw0"};
  driver_block driver_{&device_, {}, {0, "PORT1", 0}};
};

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
  EXPECT_EQ(watch_->unprinted(), 1u);
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
  for (int i = 0; i < 23; ++i) driver_status(i, 1000);
  EXPECT_EQ(timed("status"), 23u);
  EXPECT_GT(seconds("status"), 0.023);
  EXPECT_LT(seconds("status"), 0.5);
  EXPECT_EQ(drops(IOCX_FUNCTION_DROP_END_ALONE), 0u);
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
  for (int& one : requests) driver_start(&one);
  for (int& one : requests) driver_done(&one);
  driver_start(&requests[0]);  // nobody has queued it again
  EXPECT_EQ(timed("started"), 23u);
  EXPECT_EQ(timed("done"), 23u);
  EXPECT_EQ(timed("queued"), 0u);
  EXPECT_GT(seconds("started"), 23 * 0.005);
  EXPECT_LT(seconds("done"), 23 * 0.005);
  EXPECT_EQ(drops(IOCX_FUNCTION_DROP_START_UNKNOWN), 1u);
  EXPECT_EQ(object_->maps().shares.held(IOCX_FUNCTION_SHARE_STARTS), 1u);  // that of `done`
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

TEST_F(Functions, TooManyPointersAreNotFollowed) {
  describe(
      "name: submit, symbol: driver_submit\nname: p, symbol: {pointer: '[arg0+32]', of: submit}");
  user of{};
  for (std::uintptr_t i = 1; i <= 1000; ++i) {
    of.process = reinterpret_cast<void (*)(user*)>(i);
    driver_submit(&of);
  }
  EXPECT_THAT(watch_->pointers()[::getpid()], SizeIs(FunctionWatch::kMostPointers));
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

TEST_F(Functions, OneThatIsCalledTooOftenIsSwitchedOffAlone) {
  describe("name: sum, symbol: driver_sum\nname: write, symbol: driver_write", 0.001);
  const long numbers[] = {1};
  for (int look = 0; look < 5; ++look) {
    for (int i = 0; i < 2000; ++i) driver_sum(numbers, 1);
    driver_write(&driver_.port, 1);
    now_ += std::chrono::seconds(1);
    watch_->tick(now_);
    watch_->tick(now_);
  }
  EXPECT_THAT(state(), HasSubstr("sum: off: above --overhead.budget"));
  EXPECT_THAT(counts(), ElementsAre(Pair("write{}", 5)));
  EXPECT_FALSE(is_watched("sum"));
  EXPECT_TRUE(is_watched("write"));
  now_ += FunctionWatch::kFirstRest;
  watch_->tick(now_);
  EXPECT_TRUE(is_watched("sum"));
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
  EXPECT_EQ(maps.shares.held(IOCX_FUNCTION_SHARE_SERIES), 23u);
  EXPECT_GT(maps.shares.held(IOCX_FUNCTION_SHARE_RESULTS), 0u);
  EXPECT_EQ(maps.shares.held(IOCX_FUNCTION_SHARE_THREADS), 1u);
  watch_->follow({});
  watch_->tick(now_);
  watch_->keep({});
  now_ += FunctionWatch::kSweep;
  watch_->tick(now_);
  for (const std::uint32_t table : {IOCX_FUNCTION_SHARE_SERIES, IOCX_FUNCTION_SHARE_RESULTS,
                                    IOCX_FUNCTION_SHARE_THREADS, IOCX_FUNCTION_SHARE_STARTS})
    EXPECT_EQ(maps.shares.held(table), 0u) << table;
  EXPECT_EQ(watch_->series(), 0u);
  EXPECT_THAT(value_of(maps.by_key.keys()), IsEmpty());
  EXPECT_THAT(value_of(maps.places.keys()), IsEmpty());
}

TEST_F(Functions, TheHelperAttachesWhereAFunctionBeginsOnly) {
  const UniqueFd file(::open(TEST_DRIVER, O_RDONLY | O_CLOEXEC));
  const auto found = value_of(iocs::find_functions(
      file.get(), "it",
      std::vector{iocs::FunctionWish{iocs::FunctionWish::Kind::name, "driver_sum"}}));
  const std::uint64_t at = only(found.found).code.file_offset;
  const iocs::Attacher& attacher = object_->attacher();
  const auto ask = [&](std::uint32_t what, std::uint64_t offset) {
    HelperRequest request{.what = what, .pid = kernel::kAllProcesses, .offset = offset};
    request.more[0] = at;
    return error_of(attacher.serve(request, file));
  };
  EXPECT_EQ(ask(20, at), "");
  EXPECT_THAT(ask(20, at + 1), HasSubstr("name no function there"));
  EXPECT_THAT(ask(21, at + 1), HasSubstr("does not end there"));
  EXPECT_THAT(ask(22, at), HasSubstr("no such request"));
}

}  // namespace
}  // namespace ioc_exporter::functions
