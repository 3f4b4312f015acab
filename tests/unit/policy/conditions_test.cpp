// Conditions of a rule: networks.
#include <gmock/gmock.h>

#include <vector>

#include "base/client_network.h"
#include "support/value_of.h"

namespace ioc_exporter::policy {
namespace {

bool contains(const std::string& network, const std::string& address) {
  const auto parsed = ClientNetwork::parse(network);
  const auto client = parse_client_address(address);
  EXPECT_TRUE(parsed) << network;
  EXPECT_TRUE(client) << address;
  return parsed && client && parsed->contains(*client);
}

TEST(ClientNetwork, ContainsAddressesWithItsPrefix) {
  EXPECT_TRUE(contains("10.0.0.0/8", "10.255.3.4"));
  EXPECT_FALSE(contains("10.0.0.0/8", "11.0.0.0"));
  EXPECT_TRUE(contains("172.16.0.0/12", "172.31.255.255"));
  EXPECT_FALSE(contains("172.16.0.0/12", "172.32.0.0"));
  EXPECT_TRUE(contains("192.168.1.7", "192.168.1.7"));
  EXPECT_FALSE(contains("192.168.1.7", "192.168.1.6"));
  EXPECT_TRUE(contains("192.168.1.6/31", "192.168.1.7"));
  EXPECT_TRUE(contains("0.0.0.0/0", "203.0.113.9"));
  EXPECT_TRUE(contains("2001:db8::/33", "2001:db8:7fff::1"));
  EXPECT_FALSE(contains("2001:db8::/33", "2001:db8:8000::1"));
  EXPECT_TRUE(contains("fe80::/10", "fe80::1%eth0"));
  EXPECT_TRUE(contains("::1", "::1"));
}

TEST(ClientNetwork, KeepsTheFamiliesApart) {
  EXPECT_FALSE(contains("0.0.0.0/0", "2001:db8::1"));
  EXPECT_FALSE(contains("2000::/3", "32.0.0.1"));
  EXPECT_TRUE(contains("10.0.0.0/8", "::ffff:10.1.2.3"));  // IPv4 on an IPv6 socket
  EXPECT_TRUE(contains("::/0", "10.1.2.3"));
}

TEST(ClientNetwork, NamesAnInvalidNetwork) {
  for (const char* text : {"", "10.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "::/129",
                           "10.0.0.0/8x", "console", "fe80::1%eth0"})
    EXPECT_FALSE(ClientNetwork::parse(text)) << text;
  EXPECT_EQ(ClientNetwork::parse("10.1.2.3/8").error().message(),
            "\"10.1.2.3/8\" is no network: the address has bits beyond the first 8");
  EXPECT_FALSE(ClientNetwork::parse("2001:db8::1/64"));
  EXPECT_FALSE(parse_client_address("unix"));
  EXPECT_FALSE(parse_client_address(""));
}

}  // namespace
}  // namespace ioc_exporter::policy
