// Which IOCs the host follows, and by which names.
#include "iocs/host.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "iocs/known_iocs.h"
#include "proc_tree.h"

namespace ioc_exporter::iocs {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr milliseconds kLong{60'000};

class HostPlaces : public testing::Test, public ProcTree {
 protected:
  HostPlaces() {
    folder_.write("/etc/passwd", "root:x:0:0::/:/\nalice:x:1001:9::/:/\nmallory:x:1002:9::/:/\n");
  }

  void put(int pid, uid_t user, const std::string& environment) {
    ProcTree::put({.pid = pid, .start = pid, .environment = environment});
    folder_.write("/proc/" + std::to_string(pid) + "/status",
                  "Name:\tx\nUid:\t" + std::to_string(user) + "\t0\t0\t0\n");
  }
  void look(Host& host) {
    now_ += std::chrono::seconds(1);
    EXPECT_TRUE(host.poll(now_, kLong));
    host.apply(now_);
  }
  static std::vector<std::string> names(const Host& host) {
    std::vector<std::string> names;
    for (const IocFacts& facts : host.view()->facts())
      if (facts.up) names.push_back(facts.user + ":" + facts.name);
    return names;
  }
  using Names = std::vector<std::string>;

  Host::Clock::time_point now_ = Host::Clock::now();
};

TEST_F(HostPlaces, AnIocOfAnotherUserContinuesNothing) {
  Host host(RootedFs(folder_.path()), {});
  put(7, 1001, "IOC=ps");
  look(host);
  const std::uint32_t alices = host.number_of("ps");
  remove(7);
  put(8, 1002, "IOC=ps");
  look(host);
  EXPECT_EQ(names(host), Names{"mallory:ps-mallory"});
  EXPECT_NE(host.number_of("ps-mallory"), alices);
  put(9, 1001, "IOC=ps");
  look(host);
  EXPECT_EQ(names(host), (Names{"mallory:ps-mallory", "alice:ps"}));
  EXPECT_EQ(host.number_of("ps"), alices);
}

TEST_F(HostPlaces, AViewNeverChangesAndIsMadeWhenSomethingHas) {
  Host host(RootedFs(folder_.path()), {});
  put(7, 1001, "IOC=ps");
  look(host);
  const auto before = host.view();
  look(host);
  EXPECT_EQ(host.view(), before);
  remove(7);
  look(host);
  EXPECT_TRUE(host.view()->live().empty());
  EXPECT_EQ(before->live().size(), 1u);
}

// Each with a name of its own: who runs them fills neither memory nor the page, nor does he push
// another user's out.
TEST_F(HostPlaces, ThoseThatAreGoneAreBounded) {
  constexpr std::size_t kMost = 20, kEach = 8;
  Host::Options few;
  few.most_gone = kMost;
  Host host(RootedFs(folder_.path()), few);
  put(7, 1001, "IOC=ps");
  look(host);
  remove(7);
  look(host);
  for (std::size_t begin = 0; begin < kMost + kEach; begin += kEach) {
    for (std::size_t i = begin; i < begin + kEach; ++i)
      put(static_cast<int>(100 + i), 1002, "IOC=fake" + std::to_string(i));
    look(host);
    for (std::size_t i = begin; i < begin + kEach; ++i) remove(static_cast<int>(100 + i));
    look(host);
  }
  const auto facts = host.view()->facts();
  EXPECT_EQ(facts.size(), kMost);
  EXPECT_TRUE(std::ranges::any_of(facts, [](const auto& one) { return one.name == "ps"; }));
  EXPECT_TRUE(std::ranges::none_of(facts, [](const auto& one) { return one.name == "fake0"; }));
}

// Of each IOC on the page: + it runs, - it is gone, ! nothing but that is known any more.
class HostKeeps : public HostPlaces {
 protected:
  std::string look_after(std::chrono::seconds time) {
    now_ += time - std::chrono::seconds(1);
    look(host_);
    std::string all;
    for (const IocFacts& facts : host_.view()->facts())
      all += facts.name + (facts.up ? "+ " : facts.only_up ? "! " : "- ");
    return all;
  }

  Host host_{RootedFs(folder_.path()), {}};
};

TEST_F(HostKeeps, AnIocThatIsGoneForADay) {
  put(7, 1001, "IOC=ps");
  look_after(seconds(1));
  const std::uint32_t number = host_.number_of("ps");
  EXPECT_EQ(look_after(minutes(10)), "ps+ ");
  remove(7);
  EXPECT_EQ(look_after(seconds(1)), "ps- ");
  EXPECT_GT(host_.view()->facts()[0].end_time_seconds, 1'700'000'000);
  EXPECT_EQ(look_after(seconds(299)), "ps- ");
  EXPECT_TRUE(host_.take_forgotten().empty());
  EXPECT_EQ(look_after(seconds(1)), "ps! ");
  EXPECT_EQ(host_.take_forgotten(), std::vector{number});
  EXPECT_TRUE(host_.view()->knows("ps") && host_.view()->gone_names().at("ps").user == 1001);
  EXPECT_FALSE(host_.view()->known_names().contains("ps"));
  EXPECT_EQ(look_after(hours(24) - seconds(301)), "ps! ");
  EXPECT_EQ(look_after(seconds(1)), "");
  EXPECT_FALSE(host_.view()->knows("ps"));
  EXPECT_TRUE(host_.take_forgotten().empty()) << "that was told";
}

// A test that somebody runs by hand is nothing to be missed for a day.
TEST_F(HostKeeps, ForFiveMinutesIocsThatRanForLessThanTen) {
  put(7, 1001, "IOC=test");
  look_after(seconds(1));
  look_after(seconds(598));
  remove(7);
  EXPECT_EQ(look_after(seconds(1)), "test- ");
  EXPECT_EQ(look_after(seconds(299)), "test- ");
  EXPECT_EQ(look_after(seconds(1)), "");
}

TEST_F(HostKeeps, AnIocThatRestartsOftenAndThenStaysAway) {
  for (int pid = 7; pid < 10; ++pid) {
    put(pid, 1001, "IOC=ps");
    look_after(minutes(4));
    remove(pid);
    look_after(minutes(1));
  }
  EXPECT_EQ(host_.view()->facts()[0].restarts, 2u);
  EXPECT_EQ(look_after(hours(1)), "ps! ") << "10 minutes since it was seen first";
  put(11, 1001, "IOC=ps");
  look_after(seconds(1));
  EXPECT_EQ(look_after(seconds(1)), "ps+ ");
  EXPECT_EQ(host_.view()->facts()[0].restarts, 0u) << "its counts began anew";
}

TEST_F(HostKeeps, ANameWithAPidForFiveMinutes) {
  put(7, 1001, "IOC=ps");
  put(8, 1001, "IOC=ps");
  look_after(seconds(1));
  EXPECT_EQ(look_after(hours(1)), "ps+ ps-8+ ");
  remove(8);
  EXPECT_EQ(look_after(seconds(1)), "ps+ ps-8- ");
  EXPECT_EQ(look_after(minutes(5)), "ps+ ") << "it never comes again by this name";
}

// A restart whose old process took its time to end.
TEST_F(HostKeeps, TheNameOfOneThatEndedForTheOneThatWasToldApart) {
  put(7, 1001, "IOC=ps");
  look_after(seconds(1));
  const std::uint32_t number = host_.number_of("ps");
  put(8, 1001, "IOC=ps");
  put(9, 1001, "IOC=ps");
  EXPECT_EQ(look_after(seconds(1)), "ps+ ps-8+ ps-9+ ");
  const std::uint32_t old_number = host_.number_of("ps-8");
  const std::uint64_t serial = std::next(host_.view()->live().begin())->second.serial;
  remove(7);
  EXPECT_EQ(look_after(seconds(1)), "ps+ ps-9+ ") << "the older of the two, and nothing is down";
  const LiveIoc& live = host_.view()->live().begin()->second;
  EXPECT_EQ(live.ioc.id.pid, 8);
  EXPECT_EQ(live.number, number);
  EXPECT_EQ(live.ioc.contested_with, "");
  EXPECT_NE(live.serial, serial) << "counts begin anew";
  EXPECT_EQ(host_.view()->facts()[0].restarts, 1u);
  EXPECT_EQ(host_.view()->names().at(old_number), "ps-8")
      << "its last counts are shown for a while";
  look_after(minutes(5));
  EXPECT_EQ(host_.take_forgotten(), std::vector{old_number});
  EXPECT_EQ(look_after(seconds(1)), "ps+ ps-9+ ");
}

TEST_F(HostPlaces, TheLatestGetsNoPlaceUntilOneIsFree) {
  Host::Options few;
  few.finder.places = 3;
  Host host(RootedFs(folder_.path()), few);
  for (const int pid : {11, 12, 13, 14}) put(pid, 1002, "IOC=fake" + std::to_string(pid));
  look(host);
  EXPECT_EQ(names(host), (Names{"mallory:fake11", "mallory:fake12", "mallory:fake13"}));
  EXPECT_EQ(host.view()->left_out(), 1u);
  put(7, 1001, "IOC=ps");
  look(host);
  EXPECT_EQ(names(host), (Names{"mallory:fake11", "mallory:fake12", "mallory:fake13"}));
  EXPECT_EQ(host.view()->left_out(), 2u);
  remove(12);
  look(host);
  EXPECT_EQ(names(host), (Names{"alice:ps", "mallory:fake11", "mallory:fake13"}));
  EXPECT_EQ(host.view()->left_out(), 1u);
}

// The one that began first takes the name of one that ended; another one takes its own.
TEST(KnownIocs, NamesPassFromOneToAnotherWithinAScan) {
  const auto ioc = [](pid_t pid, const std::string& name) {
    Ioc one;
    one.id = {pid, 1};
    one.name = name;
    return one;
  };
  auto now = HostView::Clock::now();
  KnownIocs known(minutes(5), 16);
  known.apply({{}, {ioc(1, "x"), ioc(2, "x-2")}, {}}, 0, now);
  known.apply({{ioc(1, "x")}, {ioc(3, "x-2")}, {ioc(2, "x")}}, 0, now += seconds(1));
  known.apply({}, 0, now += hours(1));
  EXPECT_TRUE(known.take_forgotten().empty());
  ASSERT_EQ(known.facts().size(), 2u);
  for (const auto& [id, live] : known.live())
    EXPECT_EQ(known.names().at(live.number), live.ioc.name);
  EXPECT_NE(known.live().at({2, 1}).number, known.live().at({3, 1}).number);
}

}  // namespace
}  // namespace ioc_exporter::iocs
