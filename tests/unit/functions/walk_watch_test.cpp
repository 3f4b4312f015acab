// What walks find in several IOCs, from scrape to scrape. Their memory is this process'.
#include "functions/walk_watch.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "exposition/text_encoder.h"
#include "own_memory.h"

namespace ioc_exporter::functions {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Answer = WalkWatch::Answer;

class SlowMemory : public OwnMemory {
  Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> into) override {
    std::this_thread::sleep_for(WalkWatch::kBudget);
    return OwnMemory::read_some(address, into);
  }
};

class MemoryReader : public iocs::ProcessReader {
 public:
  MemoryReader() : ProcessReader(RootedFs("/")) {}
  Result<std::unique_ptr<iocs::Memory>> memory(const iocs::IocId& id) override {
    ++asked;
    if (id.pid == hangs) return Error{std::make_error_code(std::errc::stream_timeout), "read it"};
    if (id.pid == slow) return std::unique_ptr<iocs::Memory>(std::make_unique<SlowMemory>());
    return std::unique_ptr<iocs::Memory>(std::make_unique<OwnMemory>());
  }
  int asked = 0;
  pid_t hangs = 0, slow = 0;
};

class WalkWatchTest : public ::testing::Test {
 protected:
  WalkWatchTest() {
    watch = watching(R"(walks:
  - name: things
    file: lib
    each: [{item: thing, first: '[list]', next: '[thing]'}]
    labels: {thing: '[thing+8] -> string[16]'}
    metrics:
      - {name: epics_thing, help: Value., value: '[thing+16] -> long', only: 0..}
      - {name: epics_thing_total, help: Count., value: '[thing+16] -> long'})");
  }
  std::unique_ptr<WalkWatch> watching(const std::string& text) {
    return std::make_unique<WalkWatch>(reader, std::make_shared<std::vector<Walk>>(walks_in(text)));
  }
  std::string page() const {
    exposition::TextEncoder encoder;
    watch->encode(encoder);
    return encoder.take();
  }
  std::vector<std::string> states() const {
    std::vector<std::string> all;
    for (const auto& one : watch->states())
      all.push_back(one.ioc + " " + one.walk + " " + one.file + " " + one.state);
    return all;
  }

  std::shared_ptr<MemoryReader> reader = std::make_shared<MemoryReader>();
  std::unique_ptr<WalkWatch> watch;
  Thing b{nullptr, "b", 23}, a{&b, "a", 0};
  Variable variable{&a};
};

TEST_F(WalkWatchTest, EachIocHasItsSeries) {
  Thing c{nullptr, "c", 7};
  const Variable other{&c};
  watch->take({1, 1}, 1, {{0, places(variable)}});
  watch->take({2, 1}, 1, {{0, places(other)}});
  watch->read({{{1, 1}, 1, "one"}, {{2, 1}, 1, "two"}, {{3, 1}, 1, "maps no such file"}});
  EXPECT_EQ(page(),
            "# HELP epics_thing Value.\n# TYPE epics_thing gauge\n"
            "epics_thing{ioc=\"one\",thing=\"a\"} 0\nepics_thing{ioc=\"one\",thing=\"b\"} 23\n"
            "epics_thing{ioc=\"two\",thing=\"c\"} 7\n"
            "# HELP epics_thing_total Count.\n# TYPE epics_thing_total counter\n"
            "epics_thing_total{ioc=\"one\",thing=\"a\"} 0\n"
            "epics_thing_total{ioc=\"one\",thing=\"b\"} 23\n"
            "epics_thing_total{ioc=\"two\",thing=\"c\"} 7\n");
  EXPECT_EQ(reader->asked, 2);
  EXPECT_THAT(states(), ElementsAre("one things /lib 2 found", "two things /lib 1 found"));
}

TEST_F(WalkWatchTest, AnIocThatHasEndedHasNone) {
  watch->take({1, 1}, 1, {{0, places(variable)}});
  watch->read({{{1, 1}, 1, "one"}});
  watch->read({{{1, 1}, 2, "one"}});  // an exec in place
  EXPECT_EQ(page(), "");
  EXPECT_EQ(watch->knows({1, 1}, "things", "thing", "a"), Answer::not_sure);
}

TEST_F(WalkWatchTest, OneThatMustBeLeftAloneKeepsItsValues) {
  watch->take({1, 1}, 1, {{0, places(variable)}});
  watch->read({{{1, 1}, 1, "one"}});
  b.value = 24;
  watch->read({{{1, 1}, 1, "one", true}});
  EXPECT_EQ(reader->asked, 1);
  EXPECT_THAT(page(), HasSubstr("thing=\"b\"} 23"));
}

TEST_F(WalkWatchTest, OneThatHangsHasNoneAndTheOthersDo) {
  watch->take({1, 1}, 1, {{0, places(variable)}});
  watch->take({2, 1}, 1, {{0, places(variable)}});
  watch->read({{{1, 1}, 1, "one"}, {{2, 1}, 1, "two"}});
  reader->hangs = 1;
  watch->read({{{1, 1}, 1, "one"}, {{2, 1}, 1, "two"}});
  EXPECT_THAT(page(), HasSubstr("{ioc=\"two\",thing=\"b\"} 23"));
  EXPECT_THAT(page(), Not(HasSubstr("ioc=\"one\"")));
  EXPECT_THAT(states()[0], HasSubstr("one things /lib absent: read it: "));
}

TEST_F(WalkWatchTest, OneThatTakesTheWholeTimeIsNotReadBeforeTheOthersAgain) {
  reader->slow = 1;
  watch->take({1, 1}, 1, {{0, places(variable)}});
  watch->take({2, 1}, 1, {{0, places(variable)}});
  const std::vector<WalkWatch::Job> jobs{{{1, 1}, 1, "slow"}, {{2, 1}, 1, "two"}};
  watch->read(jobs);
  EXPECT_THAT(page(), Not(HasSubstr("two")));
  EXPECT_THAT(states()[0], HasSubstr("reading it takes too long"));
  watch->read(jobs);
  EXPECT_THAT(page(), HasSubstr("{ioc=\"two\",thing=\"b\"} 23"));
  // It had no time of its own this time, so that this is not its fault.
  EXPECT_EQ(watch->unfit(), 1u);
  // A name that came meanwhile is asked for when the IOC is read again.
  EXPECT_EQ(watch->knows({2, 1}, "things", "thing", "c"), Answer::no);
  watch->read(jobs);
  EXPECT_EQ(watch->unfit(), 1u);
  EXPECT_EQ(watch->knows({2, 1}, "things", "thing", "c"), Answer::not_sure);
  EXPECT_EQ(watch->knows({2, 1}, "things", "thing", "b"), Answer::yes);
}

TEST_F(WalkWatchTest, AFileWithoutTheVariableKnowsNoNames) {
  watch->take({1, 1}, 1, {{0, {"/lib", {}, "it has no variable list"}}});
  watch->take({2, 1}, 1, {});  // maps no such file
  for (unsigned look = 0; look < WalkWatch::kReadingsToFit; ++look) {
    EXPECT_EQ(watch->knows({1, 1}, "things", "thing", "b"), Answer::not_sure);
    watch->read({{{1, 1}, 1, "one"}, {{2, 1}, 1, "two"}});
  }
  EXPECT_EQ(watch->knows({1, 1}, "things", "thing", "b"), Answer::no);
  EXPECT_EQ(watch->knows({2, 1}, "things", "thing", "b"), Answer::no);
  EXPECT_THAT(states(), ElementsAre("one things /lib absent: it has no variable list"));
  EXPECT_EQ(page(), "");
}

// Once in its life, not at each scrape.
TEST_F(WalkWatchTest, WhatDoesNotFitIsCountedOnceAndSaid) {
  b.value = -1;
  watch->take({1, 1}, 1, {{0, places(variable)}});
  watch->read({{{1, 1}, 1, "one"}});
  watch->read({{{1, 1}, 1, "one"}});
  EXPECT_EQ(watch->unfit(), 1u);
  EXPECT_THAT(states(), ElementsAre("one things /lib 1 found, 1 absent: epics_thing: "
                                    "[thing+16] -> long makes no sense"));
}

TEST_F(WalkWatchTest, OfWalksOfOneNameTheOneThatFindsMostIsShown) {
  const std::string one = R"(  - name: things
    file: lib
    each: [{item: thing, first: '[list]', next: '[thing]'}]
    labels: {thing: '[thing+8] -> string[16]'}
    must: ['[thing+16] = )";
  watch = watching("walks:\n" + one + "7']\n    metrics: [{name: epics_seven, help: Seven.}]\n" +
                   one + "23']\n    metrics: [{name: epics_other, help: Other.}]\n");
  Thing c{nullptr, "c", 7};
  const Variable other{&c};
  watch->take({1, 1}, 1, {{0, places(variable)}, {1, places(variable)}});
  watch->take({2, 1}, 1, {{0, places(other)}, {1, places(other)}});
  watch->read({{{1, 1}, 1, "one"}, {{2, 1}, 1, "two"}});
  EXPECT_EQ(page(),
            "# HELP epics_seven Seven.\n# TYPE epics_seven gauge\n"
            "epics_seven{ioc=\"two\",thing=\"c\"} 1\n"
            "# HELP epics_other Other.\n# TYPE epics_other gauge\n"
            "epics_other{ioc=\"one\",thing=\"b\"} 1\n");
  EXPECT_THAT(states(),
              ElementsAre("one things /lib 1 found, 1 absent: [thing+16] = 23 does not hold",
                          "two things /lib 1 found"));
  EXPECT_EQ(watch->unfit(), 1u);
  EXPECT_EQ(watch->knows({1, 1}, "things", "thing", "b"), Answer::yes);
  EXPECT_EQ(watch->knows({1, 1}, "things", "thing", "a"), Answer::not_sure);
  EXPECT_EQ(watch->knows({2, 1}, "things", "thing", "c"), Answer::yes);
  EXPECT_EQ(watch->knows({2, 1}, "things", "thing", "b"), Answer::no);
}

TEST_F(WalkWatchTest, NamesThatWereThereStayKnown) {
  watch->take({1, 1}, 1, {{0, places(variable)}});
  EXPECT_EQ(watch->knows({1, 1}, "things", "thing", "b"), Answer::not_sure);
  watch->read({{{1, 1}, 1, "one"}});
  a.next = nullptr;
  watch->read({{{1, 1}, 1, "one"}});
  EXPECT_EQ(watch->knows({1, 1}, "things", "thing", "b"), Answer::yes);
  EXPECT_EQ(watch->knows({1, 1}, "things", "thing", "c"), Answer::no);
  EXPECT_EQ(watch->knows({2, 1}, "things", "thing", "b"), Answer::not_sure);
}

TEST_F(WalkWatchTest, AWalkThatDoesNotFitKnowsNothingAfterAFewLooks) {
  Variable elsewhere{reinterpret_cast<Thing*>(8)};
  watch->take({1, 1}, 1, {{0, places(elsewhere)}});
  for (unsigned look = 0; look < WalkWatch::kReadingsToFit; ++look) {
    EXPECT_EQ(watch->knows({1, 1}, "things", "thing", "b"), Answer::not_sure);
    watch->read({{{1, 1}, 1, "one"}});
  }
  EXPECT_EQ(watch->knows({1, 1}, "things", "thing", "b"), Answer::no);
  elsewhere.first = &a;
  watch->read({{{1, 1}, 1, "one"}});
  EXPECT_EQ(watch->knows({1, 1}, "things", "thing", "b"), Answer::yes);
  elsewhere.first = reinterpret_cast<Thing*>(8);
  watch->read({{{1, 1}, 1, "one"}});
  EXPECT_EQ(watch->knows({1, 1}, "things", "thing", "c"), Answer::not_sure);
}

}  // namespace
}  // namespace ioc_exporter::functions
