#include "web/allowed_hosts.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace ioc_exporter::web {
namespace {

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

TEST(AllowedHosts, WhatIsNoNameIsAnError) {
  for (const char* text : {"a", "a.b-c.d", ".a.b", "*"}) EXPECT_TRUE(check_allowed_host(text));
  for (const char* text : {"", ".", "a:1", "http://a", "a,b", "*.a"})
    EXPECT_FALSE(check_allowed_host(text)) << text;
}

}  // namespace
}  // namespace ioc_exporter::web
