// Access: by name of the host, by user and password, and how many at a time.
#include <gtest/gtest.h>
#include <unistd.h>

#include <list>

#include "web/access.h"
#include "web/allowed_hosts.h"
#include "web/request_slots.h"

namespace ioc_exporter::web {
namespace {

// Of "secret", cost 4.
const std::string kHash = "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW";
const std::string kRight = "Basic YWxpY2U6c2VjcmV0";  // alice:secret

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
  EXPECT_FALSE(access.knows(request));
  EXPECT_EQ(access.admit(request).user, "alice");
  rules.headers.clear();
  access.use(rules);
  EXPECT_TRUE(access.knows(request));  // the users are the same
  rules.users["bob"] = kHash;
  access.use(rules);
  EXPECT_FALSE(access.knows(request));
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

TEST(RequestSlots, OneAddressHasAThirdAndGuessesHaveHalf) {
  RequestSlots slots(8);
  std::list<RequestSlots::Slot> held;
  const auto taken = [&](const std::string& address, bool known = true) {
    int count = 0;
    for (int i = 0; i < 9; ++i) count += held.emplace_back(slots, address, known).has_place();
    return count;
  };
  EXPECT_EQ(taken("192.0.2.1"), 2);
  EXPECT_EQ(taken("2001:db8::1", false), 2);
  EXPECT_EQ(taken("2001:db8::2"), 0);
  EXPECT_EQ(taken("fe80::1%eth0", false), 0);
  EXPECT_EQ(taken("fe80::1%eth0"), 2);
  EXPECT_EQ(taken("2001:db8:0:1::1"), 2);
  EXPECT_EQ(taken("192.0.2.2"), 0);
  held.clear();
  EXPECT_EQ(taken("192.0.2.2"), 2);
  RequestSlots one(1);
  EXPECT_TRUE(RequestSlots::Slot(one, "192.0.2.1", false).has_place());
}

}  // namespace
}  // namespace ioc_exporter::web
