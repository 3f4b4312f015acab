// Access: by name of the host, by user and password, and how often.
#include <gtest/gtest.h>
#include <unistd.h>

#include "web/access.h"
#include "web/allowed_hosts.h"
#include "web/request_slots.h"

namespace ioc_exporter::web {
namespace {

using Held = std::list<RequestSlots::Slot>;
using Kind = RequestSlots::Kind;
using std::chrono::hours;

// Access by address and user, and its rate.

// Of "secret", cost 4.
const std::string kHash = "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW";
const std::string kRight = "Basic YWxpY2U6c2VjcmV0";  // alice:secret

TEST(RateLimit, LongIntervalsAndLargeBurstsAreNoOverflow) {
  for (const auto& [interval, burst] :
       {std::pair<std::chrono::milliseconds, std::uint64_t>{hours(10), 1'000'000},
        {std::chrono::milliseconds::max(), 1},
        {std::chrono::milliseconds::max(), 1'000'000}}) {
    RateLimit limit({interval, burst});
    RateLimit::Clock::time_point now{};
    EXPECT_TRUE(limit.allows(now));
    EXPECT_EQ(limit.allows(now), burst > 1 && interval < std::chrono::milliseconds::max());
    for (int year = 0; year < 3; ++year) now += hours(90 * 365 * 24);
    EXPECT_TRUE(limit.allows(now));
  }
}

TEST(RateLimit, ABurstAndThenOneEachInterval) {
  RateLimit limit({std::chrono::seconds(10), 3});
  const RateLimit::Clock::time_point start{};
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(limit.allows(start));
  EXPECT_FALSE(limit.allows(start + std::chrono::seconds(9)));
  EXPECT_TRUE(limit.allows(start + std::chrono::seconds(10)));
  EXPECT_FALSE(limit.allows(start + std::chrono::seconds(11)));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(limit.allows(start + std::chrono::hours(9)));
  EXPECT_FALSE(limit.allows(start + std::chrono::hours(9)));
}

TEST(RateLimits, EachHolderHasHisOwn) {
  RateLimits limits({hours(1), 2});
  const RateLimit::Clock::time_point now{};
  for (int i = 0; i < 100; ++i) EXPECT_EQ(limits.allows("192.0.2.1", now), i < 2);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(limits.allows("192.0.2.2", now), i < 2);
}

// Whoever comes when all places are taken shares one; places of those who rest are given away.
TEST(RateLimits, HoldersAreBounded) {
  RateLimits limits({hours(1), 2});
  RateLimit::Clock::time_point now{};
  for (std::size_t i = 0; i < RateLimits::kMostHolders; ++i)
    EXPECT_TRUE(limits.allows(std::to_string(i), now));
  EXPECT_TRUE(limits.allows("a", now));
  EXPECT_TRUE(limits.allows("b", now));
  EXPECT_FALSE(limits.allows("c", now));
  EXPECT_TRUE(limits.allows("0", now));
  EXPECT_FALSE(limits.allows("0", now));
  now += hours(2);
  EXPECT_TRUE(limits.allows("c", now));
  EXPECT_TRUE(limits.allows("c", now));
  EXPECT_FALSE(limits.allows("c", now));
}

TEST(Access, RulesAreExchanged) {
  Access access;
  Request request;
  EXPECT_FALSE(access.admit(request).refusal);
  WebConfig rules;
  rules.users = {{"alice", kHash}};
  rules.headers = {{"X-Frame-Options", "deny"}};
  access.use(rules);
  auto refusal = access.admit(request).refusal;
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->status, 401);
  EXPECT_EQ(refusal->headers.at("WWW-Authenticate").find("Basic "), 0u);
  EXPECT_EQ(access.headers(), rules.headers);
  request.authorization = kRight;
  EXPECT_FALSE(access.admit(request).refusal);
  rules.rate_limit = {hours(1), 1};
  access.use(rules);
  EXPECT_FALSE(access.admit(request).refusal);
  refusal = access.admit(request).refusal;
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->status, 429);
}

// He who asks too often is somebody at another address, or without a password.
TEST(Access, NobodyUsesUpAKnownUsersRate) {
  WebConfig rules;
  rules.users = {{"alice", kHash}};
  rules.rate_limit = {hours(1), 3};
  Access access(rules);
  Request alice, stranger;
  alice.remote = stranger.remote = "192.0.2.1";
  alice.authorization = kRight;
  EXPECT_FALSE(access.admit(alice).refusal);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(access.admit(stranger).refusal);
  const Admission known = access.admit(alice);
  EXPECT_FALSE(known.refusal);
  EXPECT_EQ(known.user, "alice");
  Request other = stranger;
  other.remote = "192.0.2.2";
  EXPECT_EQ(access.admit(stranger).refusal->status, 429);
  EXPECT_EQ(access.admit(other).refusal->status, 401);
}

// Whoever has many addresses (all of 127.0.0.0/8, an IPv6 network) takes no place from him.
TEST(Access, AThousandAddressesUseUpNoKnownUsersRate) {
  WebConfig rules;
  rules.users = {{"alice", kHash}};
  rules.rate_limit = {hours(1), 3};
  Access access(rules);
  Request alice, stranger;
  alice.remote = "192.0.2.1";
  alice.authorization = kRight;
  EXPECT_FALSE(access.admit(alice).refusal);
  for (std::size_t i = 0; i < RateLimits::kMostHolders + 100; ++i) {
    stranger.remote = std::to_string(i);
    EXPECT_TRUE(access.admit(stranger).refusal);
  }
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(access.admit(alice).refusal) << i;
  EXPECT_TRUE(access.admit(alice).refusal);
}

TEST(HolderOf, IsAUserOrAnAddress) {
  EXPECT_EQ(holder_of("127.0.0.1", ""), holder_of("127.9.9.9", ""));
  EXPECT_EQ(holder_of("127.0.0.1", ""), holder_of("::1", ""));
  EXPECT_EQ(holder_of("2001:db8::1", ""), holder_of("2001:db8::2:3", ""));
  EXPECT_NE(holder_of("2001:db8::1", ""), holder_of("2001:db8:0:1::1", ""));
  EXPECT_NE(holder_of("192.0.2.1", ""), holder_of("192.0.2.2", ""));
  EXPECT_EQ(holder_of("192.0.2.1", "alice"), holder_of("192.0.2.2", "alice"));
  EXPECT_TRUE(is_user(holder_of("192.0.2.1", "alice")));
  for (const char* address : {"192.0.2.1", "127.0.0.1", "2001:db8::1", "::1", "fe80::1%eth0"})
    EXPECT_FALSE(is_user(holder_of(address, ""))) << address;
  EXPECT_NE(holder_of("alice", ""), holder_of("192.0.2.2", "alice"));
}

TEST(AllowedHosts, AddressesAndNamesOfOneLabel) {
  const AllowedHosts hosts({});
  for (const char* host : {"", "127.0.0.1", "127.0.0.1:10064", "192.0.2.7:1", "[::1]:10064",
                           "[::1]", "localhost:10064", "ioc-host-7", "ioc-host-7:10064"})
    EXPECT_TRUE(hosts.allows(host)) << host;
  for (const char* host :
       {"evil.example", "evil.example:10064", "127.0.0.1.evil.example", "1.2.3.4.5",
        "[evil.example]", "localhost.evil.example", ":10064", "[", "."})
    EXPECT_FALSE(hosts.allows(host)) << host;
}

TEST(AllowedHosts, NamesThatAreGiven) {
  const AllowedHosts hosts({"IOC1.site.org", ".beamline.org"});
  for (const char* host : {"ioc1.site.org", "ioc1.SITE.org:10064", "ioc1.site.org.",
                           "a.beamline.org", "a.b.beamline.org:1"})
    EXPECT_TRUE(hosts.allows(host)) << host;
  for (const char* host : {"ioc2.site.org", "x.ioc1.site.org", "evilbeamline.org"})
    EXPECT_FALSE(hosts.allows(host)) << host;
  EXPECT_TRUE(AllowedHosts({"*"}).allows("evil.example"));
}

TEST(AllowedHosts, TheHostKnowsItsName) {
  char own[256] = "";
  ASSERT_EQ(::gethostname(own, sizeof own - 1), 0);
  EXPECT_TRUE(AllowedHosts(names_of_this_host()).allows(own));
}

TEST(AllowedHosts, InvalidNamesAreErrors) {
  for (const char* text : {"a", "a.b-c.d", ".a.b", "*"}) EXPECT_TRUE(check_allowed_host(text));
  for (const char* text : {"", ".", "a:1", "http://a", "a,b", "*.a"})
    EXPECT_FALSE(check_allowed_host(text)) << text;
}

int taken(Held& held, RequestSlots& slots, Kind kind, const std::string& holder, int tries) {
  int count = 0;
  for (int i = 0; i < tries; ++i) count += held.emplace_back(slots, kind, holder).has_place();
  return count;
}

TEST(RequestSlots, PagesTakeNoneOfTheScrapes) {
  RequestSlots slots(8);
  Held held;
  EXPECT_EQ(taken(held, slots, Kind::page, "a", 9), 2);
  EXPECT_EQ(taken(held, slots, Kind::page, "b", 9), 2);
  EXPECT_EQ(taken(held, slots, Kind::page, "c", 9), 0);
  EXPECT_EQ(taken(held, slots, Kind::scrape, "a", 9), 4);
  EXPECT_EQ(taken(held, slots, Kind::scrape, "b", 9), 4);
  EXPECT_EQ(taken(held, slots, Kind::scrape, "c", 9), 0);
  held.clear();
  EXPECT_EQ(taken(held, slots, Kind::scrape, "c", 9), 4);
  EXPECT_EQ(taken(held, slots, Kind::page, "c", 9), 2);
}

TEST(RequestSlots, EachKindHasAReservedSlot) {
  RequestSlots slots(1);
  Held held;
  EXPECT_EQ(taken(held, slots, Kind::page, "a", 2), 1);
  EXPECT_EQ(taken(held, slots, Kind::scrape, "a", 2), 1);
}

}  // namespace
}  // namespace ioc_exporter::web
