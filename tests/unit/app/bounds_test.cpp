#include "support/snapshot.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <tuple>

#include "sample_snapshot.h"

namespace ioc_exporter::app {
namespace {

// Of one running IOC, "ps".
Snapshot snapshot_of(std::vector<PutSample> puts = {}) {
  Snapshot snapshot;
  IocSample& ioc = snapshot.iocs.emplace_back();
  ioc.name = "ps";
  ioc.up = true;
  snapshot.puts = std::move(puts);
  return snapshot;
}

PutSample put(const std::string& pv, std::uint64_t count, const std::string& client = "10.0.0.7",
              PutOp op = PutOp::write) {
  return {"ps", pv, client, "u", "h", op, count, 1000.0 + static_cast<double>(count)};
}

std::uint64_t limited(const Snapshot& snapshot, const std::string& family) {
  for (const LimitedSample& kind : snapshot.limited)
    if (kind.family == family) return kind.things;
  ADD_FAILURE() << family << " is missing";
  return 0;
}

// Counts by PV, client and operation.
using PutMap = std::map<std::tuple<std::string, std::string, PutOp>, std::uint64_t>;
PutMap puts_of(const Snapshot& snapshot) {
  PutMap puts;
  for (const PutSample& one : snapshot.puts) {
    const bool is_new = puts.emplace(std::tuple(one.pv, one.client, one.op), one.count).second;
    EXPECT_TRUE(is_new) << one.pv;
  }
  return puts;
}

TEST(Bounds, ChangesNothingWithinTheLimits) {
  Bounds bounds((exposition::BoundsOptions()));
  Snapshot snapshot = sample_snapshot();
  snapshot.limited.clear();
  const std::string before = render_text(snapshot, sample_exporter());
  bounds.apply(snapshot);
  snapshot.limited.clear();
  EXPECT_EQ(render_text(snapshot, sample_exporter()), before);
}

TEST(Bounds, EveryKindIsToldFromTheFirstScrapeOn) {
  Bounds bounds((exposition::BoundsOptions()));
  Snapshot snapshot;
  bounds.apply(snapshot);
  std::vector<std::string> kinds;
  for (const LimitedSample& kind : snapshot.limited) {
    EXPECT_EQ(kind.things, 0u);
    kinds.push_back(kind.family);
  }
  EXPECT_EQ(kinds,
            (std::vector<std::string>{"records", "puts", "put_failures", "put_durations", "pvs",
                                      "clients", "searches", "beacons", "unexpected_puts"}));
}

TEST(Bounds, PutsOverTheLimitAreSummedByOperation) {
  exposition::BoundsOptions options;
  options.limits.puts = {2, 2, 2};
  Bounds bounds(options);
  Snapshot snapshot =
      snapshot_of({put("A", 3), put("B", 5, "10.0.0.8"), put("C", 7, "10.0.0.9"),
                   put("D", 11, "10.0.0.9"), put("D", 13, "10.0.0.9", PutOp::write_notify)});
  bounds.apply(snapshot);
  EXPECT_EQ(puts_of(snapshot), (PutMap{{{"A", "10.0.0.7", PutOp::write}, 3},
                                       {{"B", "10.0.0.8", PutOp::write}, 5},
                                       {{"(other)", "(other)", PutOp::write}, 18},
                                       {{"(other)", "(other)", PutOp::write_notify}, 13}}));
  EXPECT_EQ(snapshot.puts[2].user, "(other)");
  EXPECT_EQ(snapshot.puts[2].host, "(other)");
  EXPECT_EQ(snapshot.puts[2].last_time_seconds, 1011);
  EXPECT_EQ(limited(snapshot, "puts"), 2u);
}

TEST(Bounds, DurationsOfPutsAreByIocForASite) {
  exposition::BoundsOptions options;
  options.set = exposition::SeriesSet::site;
  Bounds bounds(options);
  const auto durations = [&bounds](std::uint64_t a, std::uint64_t b) {
    Snapshot snapshot = snapshot_of({put("A", 3), put("B", 5)});
    snapshot.put_durations = {{"ps", "A", 10 * a, {}}, {"ps", "B", 10 * b, {}}};
    snapshot.put_durations[0].buckets[3] = a;
    snapshot.put_durations[1].buckets[3] = b;
    snapshot.pvs = {{"ps", "A", "A", "VAL"}};
    bounds.apply(snapshot);
    EXPECT_EQ(puts_of(snapshot).size(), 2u);
    EXPECT_EQ(limited(snapshot, "put_durations"), 0u);
    std::map<std::string, std::uint64_t> found;
    for (const PutDurationSample& one : snapshot.put_durations) {
      EXPECT_EQ(one.sum_ns, 10 * one.buckets[3]);
      found[one.pv] = one.buckets[3];
    }
    EXPECT_EQ(snapshot.pvs.size(), found.contains("(other)") ? 0u : 1u);
    return found;
  };
  using Found = std::map<std::string, std::uint64_t>;
  EXPECT_EQ(durations(3, 5), (Found{{"(other)", 8}}));
  EXPECT_EQ(durations(4, 5), (Found{{"(other)", 9}}));
  options.set = exposition::SeriesSet::all;
  bounds.configure(options);
  EXPECT_EQ(durations(4, 6), (Found{{"A", 4}, {"B", 6}}));
  options.set = exposition::SeriesSet::site;
  bounds.configure(options);
  EXPECT_EQ(durations(4, 7), (Found{{"(other)", 11}}));
}

TEST(Bounds, AFloodOfNamesFromOneClientChangesNothingForTheOthers) {
  Bounds bounds((exposition::BoundsOptions()));
  Snapshot first = snapshot_of();
  for (int i = 0; i < 100; ++i) first.puts.push_back(put("SR:" + std::to_string(i), 7));
  PutDurationSample duration{"ps", "SR:5", 1000, {}};
  duration.buckets[3] = 5;
  first.put_durations = {duration};
  first.pvs = {{"ps", "SR:5", "SR:5", "VAL"}};
  first.put_failures = {{"ps", "SR:5", "10.0.0.7", "u", "h", "put_failed", 2}};
  Snapshot flooded = first;
  const Snapshot before = first;
  bounds.apply(first);
  for (int i = 0; i < 50'000; ++i) {
    const std::string pv = "random" + std::to_string(i);
    flooded.puts.push_back(put(pv, 1, "10.6.6.6"));
    duration.pv = pv;
    flooded.put_durations.push_back(duration);
    flooded.pvs.push_back({"ps", pv, "SR:5", "VAL"});
    flooded.put_failures.push_back({"ps", pv, "10.6.6.6", "u", "h", "put_failed", 1});
  }
  // Somebody who writes for the first time while that goes on.
  flooded.puts.push_back(put("SR:new", 3, "10.0.0.9"));
  flooded.put_failures.push_back({"ps", "SR:new", "10.0.0.9", "u", "h", "put_failed", 1});
  bounds.apply(flooded);
  PutMap puts = puts_of(flooded);
  for (const PutSample& one : before.puts)
    EXPECT_EQ((puts[{one.pv, one.client, one.op}]), one.count) << one.pv;
  EXPECT_EQ((puts[{"SR:new", "10.0.0.9", PutOp::write}]), 3u);
  // The series of the flood name its client.
  EXPECT_EQ((puts[{"(other)", "10.6.6.6", PutOp::write}]), 45'000u);
  EXPECT_EQ(flooded.puts.size(), 100u + 1 + 5'000 + 1);
  EXPECT_EQ(limited(flooded, "puts"), 45'000u);
  EXPECT_EQ(flooded.put_failures.size(), 1u + 1 + 1'000 + 1);
  // Series without a client are there for PVs whose puts are shown.
  EXPECT_EQ(flooded.put_durations.size(), 1u + 5'000 + 1);
  EXPECT_EQ(flooded.put_durations.front().pv, "SR:5");
  EXPECT_EQ(flooded.put_durations.back().pv, "(other)");
  EXPECT_EQ(flooded.put_durations.back().buckets[3], 45'000u * 5);
  EXPECT_EQ(flooded.pvs.size(), 5'001u);
  EXPECT_EQ(flooded.pvs.front().pv, "SR:5");
}

TEST(Bounds, PvsThatAreLeftOutAreInNoSum) {
  exposition::BoundsOptions options;
  options.pvs.exclude = *Pattern::compile(".*:Clock");
  options.limits.puts.series = 1;
  Bounds bounds(options);
  Snapshot snapshot = snapshot_of({put("A", 3), put("A:Clock", 1000), put("B", 5)});
  snapshot.put_failures = {{"ps", "A:Clock", "c", "u", "h", "put_failed", 2}};
  snapshot.put_durations = {{"ps", "A:Clock", 5, {}}};
  snapshot.pvs = {{"ps", "A:Clock", "A:Clock", "VAL"}};
  bounds.apply(snapshot);
  EXPECT_EQ(puts_of(snapshot), (PutMap{{{"A", "10.0.0.7", PutOp::write}, 3},
                                       {{"(other)", "(other)", PutOp::write}, 5}}));
  EXPECT_TRUE(snapshot.put_failures.empty() && snapshot.put_durations.empty() &&
              snapshot.pvs.empty());
}

TEST(Bounds, FailuresAreSummedByReasonAndGaugesOverLivingThings) {
  exposition::BoundsOptions options;
  options.limits.put_failures.series = 1;
  options.limits.clients.series = 1;
  Bounds bounds(options);
  Snapshot snapshot = snapshot_of();
  snapshot.put_failures = {{"ps", "A", "c", "u", "h", "put_failed", 2},
                           {"ps", "B", "c", "u", "h", "put_failed", 3},
                           {"ps", "C", "c", "u", "h", "put_failed", 5},
                           {"ps", "C", "c", "u", "h", "no_write_access", 7}};
  snapshot.clients = {{"ps", "a", "u", "h", 1, 2, 3},
                      {"ps", "b", "u", "h", 5, 7, 11},
                      {"ps", "c", "u", "h", 13, 17, 19}};
  Snapshot later = snapshot;
  bounds.apply(snapshot);
  ASSERT_EQ(snapshot.put_failures.size(), 3u);
  std::map<std::string, std::uint64_t> sums;
  for (const PutFailureSample& failure : snapshot.put_failures)
    if (failure.pv == "(other)") sums[failure.reason] = failure.count;
  EXPECT_EQ(sums,
            (std::map<std::string, std::uint64_t>{{"put_failed", 8}, {"no_write_access", 7}}));
  ASSERT_EQ(snapshot.clients.size(), 2u);
  EXPECT_EQ(snapshot.clients[1].client, "(other)");
  EXPECT_EQ(snapshot.clients[1].channels, 24u);
  later.clients.pop_back();
  bounds.apply(later);
  EXPECT_EQ(later.clients[1].channels, 7u);
}

TEST(Bounds, UnexpectedPutsAreSummedByRuleFromNoneOn) {
  exposition::BoundsOptions options;
  options.limits.unexpected_puts = {3, 3, 1};
  Bounds bounds(options);
  const auto sums_of = [&bounds](std::uint64_t more) {
    Snapshot snapshot = snapshot_of();
    snapshot.unexpected_puts = {{"ps", "A", "c", "u", "h", "night", "forbidden", 3 + more, 5.0},
                                {"ps", "B", "c", "u", "h", "night", "forbidden", 0 + more, 6.0},
                                {"ps", "C", "c", "u", "h", "night", "forbidden", 0 + more, 7.0},
                                {"ps", "C", "c", "u", "h", "default", "unexpected", 1 + more, 8.0},
                                {"ps", "D", "c", "u", "h", "default", "unexpected", 0 + more, 9.0}};
    bounds.apply(snapshot);
    EXPECT_EQ(limited(snapshot, "unexpected_puts"), 2u);
    EXPECT_EQ(snapshot.unexpected_puts.size(), 5u);
    EXPECT_EQ(snapshot.unexpected_puts[0].count, 3 + more);
    EXPECT_EQ(snapshot.unexpected_puts[1].pv, "C") << "the newest forbidden one";
    std::map<std::string, std::uint64_t> sums;
    for (const UnexpectedPutSample& put : snapshot.unexpected_puts) {
      if (put.pv != "(other)") continue;
      EXPECT_EQ(put.client, "c");
      sums[put.rule + " " + put.action] = put.count;
    }
    return sums;
  };
  using Sums = std::map<std::string, std::uint64_t>;
  EXPECT_EQ(sums_of(0), (Sums{{"night forbidden", 0}, {"default unexpected", 0}}));
  EXPECT_EQ(sums_of(7), (Sums{{"night forbidden", 7}, {"default unexpected", 7}}));
}

TEST(Bounds, TheNewestForbiddenPutOfEachRuleIsNamedAndItsSumGoesOn) {
  exposition::BoundsOptions options;
  options.limits.unexpected_puts = {1, 1, 1};
  Bounds bounds(options);
  const auto shown = [&bounds](std::vector<UnexpectedPutSample> puts) {
    Snapshot snapshot = snapshot_of();
    snapshot.unexpected_puts = std::move(puts);
    bounds.apply(snapshot);
    std::map<std::string, std::uint64_t> counts;
    for (const UnexpectedPutSample& put : snapshot.unexpected_puts)
      counts[put.rule + " " + put.pv] += put.count;
    return counts;
  };
  const auto forbidden = [](const char* pv, const char* rule, std::uint64_t count, double last) {
    return UnexpectedPutSample{"ps", pv, "c", "u", "h", rule, "forbidden", count, last};
  };
  using Counts = std::map<std::string, std::uint64_t>;
  EXPECT_EQ(shown({forbidden("A", "night", 3, 5), forbidden("B", "night", 5, 4),
                   forbidden("C", "beam", 7, 1)}),
            (Counts{{"night A", 3}, {"night (other)", 5}, {"beam C", 7}}));
  EXPECT_EQ(shown({forbidden("A", "night", 3, 5), forbidden("B", "night", 6, 6),
                   forbidden("C", "beam", 7, 1)}),
            (Counts{{"night A", 3}, {"night B", 6}, {"night (other)", 6}, {"beam C", 7}}));
  EXPECT_EQ(shown({forbidden("A", "night", 4, 7), forbidden("B", "night", 8, 6),
                   forbidden("C", "beam", 7, 1)}),
            (Counts{{"night A", 4}, {"night (other)", 8}, {"beam C", 7}}))
      << "it counts on where it is summed up";
}

TEST(Bounds, SearchesOverTheLimitJoinTheKernelsSum) {
  exposition::BoundsOptions options;
  options.limits.searches.series = 1;
  options.limits.beacons.series = 1;
  Bounds bounds(options);
  Snapshot snapshot;
  snapshot.searches = {{"10.0.0.1", 5}, {"10.0.0.2", 7}, {"(other)", 11}};
  snapshot.beacons = {{"10.0.0.1:5064", 3}, {"10.0.0.2:5064", 5}};
  bounds.apply(snapshot);
  std::uint64_t other = 0;
  for (const SearchSample& search : snapshot.searches)
    if (search.client == "(other)") other += search.requests;
  EXPECT_EQ(other, 18u);
  ASSERT_EQ(snapshot.beacons.size(), 2u);
  EXPECT_EQ(snapshot.beacons[1].server, "(other)");
  EXPECT_EQ(snapshot.beacons[1].beacons, 5u);
}

TEST(Bounds, UnreadIocsKeepTheirSums) {
  exposition::BoundsOptions options;
  options.limits.puts.series = 1;
  Bounds bounds(options);
  const auto apply = [&bounds](std::vector<PutSample> puts, bool missing) {
    Snapshot snapshot = snapshot_of(std::move(puts));
    snapshot.puts_missing = missing;
    bounds.apply(snapshot);
    return puts_of(snapshot);
  };
  apply({put("A", 3), put("B", 5)}, false);
  EXPECT_TRUE(apply({}, true).empty());
  EXPECT_EQ(
      apply({put("A", 3), put("B", 6)}, false),
      (PutMap{{{"A", "10.0.0.7", PutOp::write}, 3}, {{"(other)", "(other)", PutOp::write}, 6}}));
}

TEST(Bounds, ASumLeavesWithItsIoc) {
  exposition::BoundsOptions options;
  options.limits.puts.series = 1;
  Bounds bounds(options);
  Snapshot snapshot = snapshot_of({put("A", 3), put("B", 5)});
  bounds.apply(snapshot);
  Snapshot gone;
  bounds.apply(gone);
  EXPECT_TRUE(gone.puts.empty());
  EXPECT_EQ(limited(gone, "puts"), 0u);
}

// A world of PVs that come, count, and go, while limits change: what must hold at each scrape.
class Life {
 public:
  explicit Life(unsigned seed) : random_(seed) {}

  void scrape(Bounds& bounds) {
    change();
    Snapshot snapshot = snapshot_of();
    for (const auto& [pv, thing] : alive_)
      snapshot.puts.push_back(put(pv, thing.count, client(pv)));
    bounds.apply(snapshot);
    check(snapshot);
  }
  std::size_t shown() const { return own_.size(); }
  std::size_t alive() const { return alive_.size(); }
  int promoted() const { return promoted_; }

 private:
  struct Thing {
    std::uint64_t count = 0, seen = 0;
  };
  static std::string client(const std::string& pv) { return "10.0.0." + pv.substr(0, 1); }
  int pick(int below) { return std::uniform_int_distribution<>(0, below - 1)(random_); }

  void change() {
    std::set<std::string> chosen;
    for (int i = 0; i < 5; ++i)
      chosen.insert(std::to_string(pick(4)) + ":" + std::to_string(pick(20)));
    for (const std::string& pv : chosen) {
      const int what = pick(10);
      if (what < 3)
        alive_.erase(pv);
      else if (what == 3 && alive_.contains(pv) && alive_[pv].seen > 1)
        alive_[pv] = {1, 0};  // began anew
      else
        alive_[pv].count += static_cast<std::uint64_t>(1 + pick(1000));
    }
  }

  // The sums must have grown by all counts of PVs that had no series of their own up to now.
  void check(const Snapshot& snapshot) {
    std::set<std::string> own;
    std::uint64_t sum = 0;
    for (const PutSample& one : snapshot.puts) {
      if (one.pv == "(other)") {
        sum += one.count;
        continue;
      }
      own.insert(one.pv);
      ASSERT_EQ(one.count, alive_.at(one.pv).count) << one.pv;
    }
    std::uint64_t expected = sum_;
    for (auto& [pv, thing] : alive_) {
      if (own_.contains(pv) && before_.contains(pv)) {
        ASSERT_TRUE(own.contains(pv)) << pv << " lost its series";
      } else if (!own.contains(pv) || (before_.contains(pv) && !own_.contains(pv))) {
        expected += thing.count - thing.seen;
        if (own.contains(pv)) ++promoted_;
      }
      thing.seen = thing.count;
    }
    ASSERT_EQ(sum, expected);
    ASSERT_EQ(limited(snapshot, "puts"), alive_.size() - own.size());
    sum_ = sum;
    own_ = std::move(own);
    before_.clear();
    for (const auto& [pv, thing] : alive_) before_.insert(pv);
  }

  std::mt19937 random_;
  std::map<std::string, Thing> alive_;
  std::set<std::string> own_, before_;
  std::uint64_t sum_ = 0;
  int promoted_ = 0;
};

TEST(Bounds, NeitherShrinksNorJumpsWhateverComesAndGoes) {
  for (unsigned seed = 1; seed <= 7; ++seed) {
    exposition::BoundsOptions options;
    options.limits.puts = {13, exposition::SeriesLimit::kNone, 5};
    Bounds bounds(options);
    Life life(seed);
    for (int scrape = 0; scrape < 400; ++scrape) {
      if (scrape % 50 == 49) {
        options.limits.puts.series = static_cast<std::size_t>(scrape % 100 == 49 ? 7 : 23);
        bounds.configure(options);
      }
      ASSERT_NO_FATAL_FAILURE(life.scrape(bounds)) << "seed " << seed << " scrape " << scrape;
    }
    EXPECT_GT(life.promoted(), 5);
    EXPECT_GT(life.alive(), life.shown());
  }
}

}  // namespace
}  // namespace ioc_exporter::app
