// What goes when an IOC pays too much, and how it comes back, by a clock of the test.
#include "probes/budget.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <string>
#include <tuple>

namespace ioc_exporter::probes {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using State = Budget::State;

constexpr iocs::IocId kIoc{7, 1};
constexpr Part kTiming{Owner::timing}, kExtras{Owner::extras}, kCounting{Owner::counting};

Part function(std::uint64_t offset) {
  return {Owner::functions, {1, offset}};
}

std::string word(const Part& part) {
  if (part.owner == Owner::functions) return "f" + std::to_string(part.function.offset);
  return part == kTiming ? "timing" : part == kExtras ? "extras" : "counting";
}

// An IOC whose hits cost so much of a core while their part is on. The rooms follow at once.
class Ioc {
 public:
  explicit Ioc(double most = 0.25, const iocs::IocId& ioc = kIoc) : budget(most), id(ioc) {}

  // What was decided meanwhile, without trials that begin.
  std::vector<std::string> run(int time, const std::map<Part, double>& loads) {
    std::vector<std::string> said;
    for (const auto end = now + seconds(time); now < end;) {
      const auto due = budget.next_due().value_or(now + seconds(1));
      const auto next = std::clamp(std::min(due, last_look + seconds(1)), now, end);
      const double passed = std::chrono::duration<double>(next - now).count();
      now = next;
      for (const auto& [part, load] : loads) {
        // Without counting nothing of records is there.
        const bool is_there = is_on(part) && (part.owner == Owner::functions || is_on(kCounting));
        spent[part] += is_there ? load * passed : 0;
        if (is_there) paid += load * passed;
      }
      if (now - last_look < seconds(1) && !budget.is_due(now)) continue;
      follow(said);
      tell(loads);
      if (now - last_look >= seconds(1)) last_look = now;
      budget.decide(now);
    }
    return said;
  }
  bool is_on(const Part& part) const { return budget.state(id, part) != State::off; }

  Budget budget;
  iocs::IocId id;
  Budget::Clock::time_point now{std::chrono::hours(1)}, last_look{};
  std::map<Part, double> spent;
  double paid = 0;
  bool tells = true;

 private:
  void follow(std::vector<std::string>& said) {
    for (const auto& one :
         budget.take_decisions({Owner::timing, Owner::functions, Owner::extras, Owner::counting}))
      if (one.state == State::off)
        said.push_back((one.was_tried ? "again -" : "-") + word(one.part));
      else if (one.state == State::on)
        said.push_back("+" + word(one.part));
  }
  void tell(const std::map<Part, double>& loads) {
    if (!tells) return;
    std::map<Owner, Budget::Spent> all;
    for (const auto& [part, load] : loads) all[part.owner][part.function] = spent[part];
    for (const auto& [owner, of] : all) budget.report(id, owner, of);
  }
};

TEST(Budget, LeavesAnIocBelowItAlone) {
  Ioc ioc;
  EXPECT_THAT(ioc.run(1000, {{kCounting, 0.2}, {function(1), 0.049}}), IsEmpty());
  Ioc unbound(0);
  EXPECT_THAT(unbound.run(100, {{kCounting, 10}}), IsEmpty());
}

TEST(Budget, ABurstIsNoLoadAndALoadThatSwingsIsItsMean) {
  for (const auto& [high, low, goes] :
       {std::tuple(2, 1, true), {1, 1, true}, {1, 2, true}, {1, 4, false}, {3, 13, false}}) {
    Ioc ioc;
    std::vector<std::string> said;
    for (int i = 0; i < 20 && said.empty(); ++i) {
      said = ioc.run(high, {{kCounting, 1}});
      if (said.empty()) said = ioc.run(low, {{kCounting, 0.001}});
    }
    EXPECT_EQ(!said.empty(), goes) << high << " s of " << high + low;
  }
}

TEST(Budget, WhatIsToldOnceASecondCountsBetweenLooksThatAreCloser) {
  Budget budget(0.25);
  Budget::Clock::time_point now{std::chrono::hours(1)};
  double spent = 0;
  for (int tick = 0; tick < 40; ++tick) {
    now += milliseconds(250);
    spent += 0.25;
    budget.report(kIoc, Owner::counting, 0);
    if (tick % 4 == 2) budget.report(kIoc, Owner::functions, {{function(1).function, spent}});
    budget.decide(now);
  }
  EXPECT_EQ(budget.state(kIoc, function(1)), State::off);
}

// All of it counts together.
TEST(Budget, ThingsGoInTheirOrderOneAtATime) {
  Ioc ioc;
  const std::map<Part, double> loads{
      {kTiming, 0.3}, {function(1), 0.1}, {function(2), 0.2}, {kExtras, 0.4}, {kCounting, 0.5}};
  EXPECT_THAT(ioc.run(3, loads), ElementsAre("-timing"));
  EXPECT_THAT(ioc.run(4, loads), ElementsAre("-f2", "-f1", "-extras", "-counting"));
  EXPECT_FALSE(ioc.is_on(kCounting));
  EXPECT_NEAR(ioc.budget.decision(kIoc, kTiming)->load, 1.5, 1e-6);
  EXPECT_NEAR(ioc.budget.decision(kIoc, kTiming)->own, 0.3, 1e-6);
  EXPECT_NEAR(ioc.budget.decision(kIoc, kCounting)->load, 0.5, 1e-6);
}

TEST(Budget, WhatCostsNextToNothingStays) {
  Ioc ioc;
  EXPECT_THAT(ioc.run(10, {{kTiming, 0.001}, {function(1), 0.01}, {kCounting, 0.8}}),
              ElementsAre("-counting"));
}

TEST(Budget, AnIocWithFunctionsOnlyLosesTheCostliestFirst) {
  Ioc ioc;
  const std::map<Part, double> loads{{function(1), 0.1}, {function(2), 0.5}, {function(3), 0.2}};
  EXPECT_THAT(ioc.run(10, loads), ElementsAre("-f2", "-f3"));
  EXPECT_TRUE(ioc.is_on(function(1)));
}

TEST(Budget, ThingsComeBackOneByOneWhenTheLoadHasFallen) {
  Ioc ioc;
  ioc.run(10, {{kTiming, 0.3}, {function(1), 0.3}, {kCounting, 0.3}});
  ASSERT_FALSE(ioc.is_on(kCounting));
  EXPECT_THAT(ioc.run(20, {{kTiming, 0.05}, {function(1), 0.05}, {kCounting, 0.05}}),
              ElementsAre("+counting", "+f1", "+timing"));
}

TEST(Budget, EachRestIsLongerThanTheOneBefore) {
  Ioc ioc;
  const std::map<Part, double> much{{kCounting, 1.5}}, edge{{kCounting, 0.22}};
  EXPECT_THAT(ioc.run(4, much), ElementsAre("-counting"));
  EXPECT_THAT(ioc.run(12, much), IsEmpty());
  EXPECT_THAT(ioc.run(6, much), ElementsAre("again -counting"));
  EXPECT_THAT(ioc.run(25, edge), IsEmpty()) << "the next rest is twice as long";
  EXPECT_THAT(ioc.run(10, edge), ElementsAre("again -counting")) << "that is on the edge";
  EXPECT_THAT(ioc.run(70, {{kCounting, 0.19}}), ElementsAre("+counting"));
  EXPECT_THAT(ioc.run(400, {{kCounting, 0.19}}), IsEmpty());
  EXPECT_THAT(ioc.run(5, much), ElementsAre("-counting"));
  EXPECT_THAT(ioc.run(20, much), ElementsAre("again -counting")) << "and all begins anew";
}

// One second in five minutes, whatever it does.
TEST(Budget, TheCostIsBounded) {
  Ioc ioc;
  ioc.run(3600, {{kCounting, 2}});
  ioc.paid = 0;
  ioc.run(6000, {{kCounting, 2}});
  EXPECT_NEAR(ioc.paid, 20 * 2, 4);
}

TEST(Budget, ALoadThatSwingsAroundItCostsAFewSecondsARest) {
  Ioc ioc;
  double paid = 0;
  for (int i = 0; i < 360; ++i) {
    ioc.run(5, {{kCounting, 1}});
    ioc.run(5, {{kCounting, 0.01}});
    if (i == 180) paid = ioc.paid;
  }
  EXPECT_LT((ioc.paid - paid) / 1800, 0.05);
}

// Else it would hide all that could be there.
TEST(Budget, OneThatCannotComeBackDoesNotKeepTheOthersOff) {
  Ioc ioc;
  ioc.run(10, {{function(1), 0.1}, {kCounting, 0.8}});
  ASSERT_FALSE(ioc.is_on(function(1)));
  ioc.run(120, {{function(1), 0.1}, {kCounting, 0.8}});
  EXPECT_TRUE(ioc.is_on(function(1)));
  EXPECT_FALSE(ioc.is_on(kCounting));
}

// The order holds on the way back, too: functions that came back before it go for it.
TEST(Budget, AFunctionThatCameBackFirstDoesNotKeepCountingOff) {
  for (const auto& [costs, goes] : {std::pair(0.12, false), {0.22, true}}) {
    Ioc ioc;
    ioc.run(10, {{function(1), 0.12}, {kCounting, 0.8}});
    ASSERT_THAT(ioc.run(60, {{function(1), 0.12}, {kCounting, 0.8}}),
                ElementsAre("again -counting", "+f1", "again -counting"));
    ioc.run(120, {{function(1), costs}, {kCounting, 0.11}});
    EXPECT_TRUE(ioc.is_on(kCounting)) << costs;
    EXPECT_EQ(ioc.is_on(function(1)), !goes) << costs;
  }
}

TEST(Budget, AnIocThatIsNotToldOfIsNotJudged) {
  Ioc ioc;
  ioc.run(4, {{kCounting, 1.5}});
  ioc.run(12, {{kCounting, 0.01}});
  ioc.tells = false;  // it is stopped
  EXPECT_THAT(ioc.run(60, {{kCounting, 0.01}}), IsEmpty());
  ioc.tells = true;
  EXPECT_THAT(ioc.run(40, {{kCounting, 0.01}}), ElementsAre("+counting"));
}

TEST(Budget, ATrialThatNobodyMeasuresIsOver) {
  Ioc ioc;
  ioc.run(5, {{kCounting, 1.5}});
  while (ioc.budget.state(kIoc, kCounting) != State::on_trial) ioc.run(1, {{kCounting, 0.01}});
  EXPECT_EQ(ioc.budget.on_trial(kIoc), kCounting);
  ioc.tells = false;
  EXPECT_THAT(ioc.run(5, {{kCounting, 0.01}}), ElementsAre("again -counting"));
  EXPECT_FALSE(ioc.budget.on_trial(kIoc));
  EXPECT_FALSE(ioc.budget.next_due()) << "or the loop would not rest";
}

// Its file has another description now, or the IOC has unloaded it.
TEST(Budget, AFunctionThatIsGoneIsForgotten) {
  Ioc ioc;
  ioc.run(10, {{function(1), 1}, {function(2), 0.01}});
  ASSERT_FALSE(ioc.is_on(function(1)));
  ioc.run(2, {{function(2), 0.01}});
  EXPECT_TRUE(ioc.is_on(function(1)));
  EXPECT_THAT(ioc.run(60, {{function(2), 0.01}}), IsEmpty());
}

// Another process: what rested in the former one does not.
TEST(Budget, AnIocThatWasRestartedBeginsAnew) {
  Ioc ioc;
  ioc.run(10, {{function(1), 1}});
  ASSERT_FALSE(ioc.is_on(function(1)));
  EXPECT_EQ(ioc.budget.state({kIoc.pid, kIoc.start_ticks + 1}, function(1)), State::on);
  ioc.tells = false;
  EXPECT_THAT(ioc.run(400, {}), ElementsAre("+f1")) << "and the former one is forgotten";
  EXPECT_TRUE(ioc.is_on(function(1)));
}

TEST(Budget, ALongSleepOfTheMachineAndSecondsThatHaveBecomeLessAreNoLoad) {
  Ioc ioc;
  ioc.run(10, {{kCounting, 0.2}});
  ioc.now += std::chrono::hours(5);
  EXPECT_THAT(ioc.run(10, {{kCounting, 0.2}}), IsEmpty());
  ioc.spent[kCounting] = 0;  // counts that begin anew
  EXPECT_THAT(ioc.run(10, {{kCounting, 0.2}}), IsEmpty());
}

TEST(Budget, PutsStayAndTheirCostIsToldOnce) {
  Budget budget(0.25);
  Budget::Clock::time_point now{std::chrono::hours(1)};
  int warnings = 0;
  for (int i = 0; i < 3700; ++i, now += seconds(1)) {
    budget.report(kIoc, Owner::ca_puts, i * 0.15);
    budget.report(kIoc, Owner::pva_puts, i * 0.15);
    budget.report(kIoc, Owner::counting, i * 0.2);
    budget.decide(now);
    warnings += budget.take_warning_of_puts(kIoc).has_value();
  }
  EXPECT_EQ(warnings, 2) << "in an hour and some";
  EXPECT_THAT(budget.take_decisions({Owner::counting, Owner::ca_puts, Owner::pva_puts}), IsEmpty());
}

}  // namespace
}  // namespace ioc_exporter::probes
