// Labels that must be names which a walk finds. The IOC's memory is this process'.
#include "functions/known_names.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "own_memory.h"

namespace ioc_exporter::functions {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class OwnReader : public iocs::ProcessReader {
 public:
  OwnReader() : ProcessReader(RootedFs("/")) {}
  Result<std::unique_ptr<iocs::Memory>> memory(const iocs::IocId&) override {
    return std::unique_ptr<iocs::Memory>(std::make_unique<OwnMemory>());
  }
};

class KnownNamesTest : public ::testing::Test {
 protected:
  KnownNamesTest() {
    const auto all = walks_in(R"(walks:
  - name: things
    file: lib
    each: [{item: thing, first: '[list]', next: '[thing]'}]
    labels: {thing: '[thing+8] -> string[16]'}
    metrics: [{name: epics_thing, help: h}])");
    walks = std::make_unique<WalkWatch>(std::make_shared<OwnReader>(),
                                        std::make_shared<std::vector<Walk>>(all));
    description.among["thing"] = "things";
    walks->take(kId, 1, {{0, places(list)}});
    std::map<std::string, KnownNames::Life> lives;
    lives["one"] = {kId};
    names.follow(std::move(lives), {"one"});
  }
  void look() const {  // again where a busy host took the whole time
    const auto is_late = [](const WalkWatch::State& one) {
      return one.state.find("takes too long") != std::string::npos;
    };
    do walks->read({{kId, 1, "one"}});
    while (std::ranges::any_of(walks->states(), is_late));
  }
  // "thing calls duration failures", of calls for `thing`.
  std::vector<std::string> shown(const std::string& thing, std::uint64_t calls) {
    FunctionSample sample{"one", "f", {{"thing", thing}}, calls, {{"bad", calls / 2}}};
    sample.durations.emplace().sum_ns = 10 * calls;
    sample.durations->buckets[3] = calls;
    sample.description = &description;
    std::vector<FunctionSample> samples{sample};
    names.apply(samples, *walks);
    std::vector<std::string> all;
    for (const FunctionSample& one : samples)
      all.push_back(one.labels[0].second + " " + std::to_string(one.calls) + " " +
                    std::to_string(one.durations->sum_ns) + "/" +
                    std::to_string(one.durations->buckets[3]) + " " +
                    std::to_string(one.failures.at("bad")));
    return all;
  }

  static constexpr iocs::IocId kId{1, 1};
  Description description;
  std::unique_ptr<WalkWatch> walks;
  KnownNames names;
  Thing b{nullptr, "b"}, a{&b, "a"};
  Variable list{&a};
};

TEST_F(KnownNamesTest, ANameIsShownAndStaysOne) {
  EXPECT_THAT(shown("a", 4), IsEmpty());  // it was not looked at yet
  look();
  EXPECT_THAT(shown("a", 4), ElementsAre("a 4 40/4 2"));
  list.first = &b;
  look();
  EXPECT_THAT(shown("a", 6), ElementsAre("a 6 60/6 3"));
  EXPECT_EQ(names.unknown(), 0u);
}

// No count ever falls, whatever becomes known.
TEST_F(KnownNamesTest, ANameThatBecomesKnownIsShownFromThenOn) {
  look();
  EXPECT_THAT(shown("c", 4), ElementsAre(" 4 40/4 2"));
  EXPECT_THAT(shown("c", 6), ElementsAre(" 6 60/6 3"));
  EXPECT_EQ(names.unknown(), 6u);
  Thing c{&a, "c"};
  list.first = &c;
  EXPECT_THAT(shown("c", 8), ElementsAre(" 8 80/8 4"));
  look();
  EXPECT_THAT(shown("c", 8), ElementsAre(" 8 80/8 4", "c 0 0/0 0"));
  EXPECT_THAT(shown("c", 18), ElementsAre(" 8 80/8 4", "c 10 100/10 5"));
  EXPECT_EQ(names.unknown(), 8u);
}

TEST_F(KnownNamesTest, OneThatIsNotSureIsShownAsBefore) {
  look();
  EXPECT_THAT(shown("c", 4), ElementsAre(" 4 40/4 2"));
  list.first = reinterpret_cast<Thing*>(8);  // it does not fit for now
  look();
  EXPECT_THAT(shown("d", 4), IsEmpty());
  EXPECT_THAT(shown("c", 6), ElementsAre(" 6 60/6 3"));
}

TEST_F(KnownNamesTest, AnIocThatIsForgottenLeavesNothing) {
  look();
  EXPECT_THAT(shown("c", 4), ElementsAre(" 4 40/4 2"));
  names.follow({}, {});
  EXPECT_THAT(shown("c", 4), IsEmpty());
}

}  // namespace
}  // namespace ioc_exporter::functions
