// Conditions of a rule: networks.
#include <gmock/gmock.h>

#include "base/client_network.h"
#include "support/value_of.h"

namespace ioc_exporter::policy {
namespace {

TEST(ClientNetwork, ContainsAddressesWithItsPrefixAndOfItsFamily) {
  struct Row {
    const char *network, *address;
    bool contains;
  };
  const Row rows[] = {{"10.0.0.0/8", "10.255.3.4", true},
                      {"10.0.0.0/8", "11.0.0.0", false},
                      {"172.16.0.0/12", "172.31.255.255", true},
                      {"172.16.0.0/12", "172.32.0.0", false},
                      {"192.168.1.7", "192.168.1.7", true},
                      {"192.168.1.7", "192.168.1.6", false},
                      {"192.168.1.6/31", "192.168.1.7", true},
                      {"0.0.0.0/0", "203.0.113.9", true},
                      {"2001:db8::/33", "2001:db8:7fff::1", true},
                      {"2001:db8::/33", "2001:db8:8000::1", false},
                      {"fe80::/10", "fe80::1%eth0", true},
                      {"::1", "::1", true},
                      {"0.0.0.0/0", "2001:db8::1", false},
                      {"2000::/3", "32.0.0.1", false},
                      {"10.0.0.0/8", "::ffff:10.1.2.3", true},  // IPv4 on an IPv6 socket
                      {"::/0", "10.1.2.3", true}};
  for (const Row& row : rows)
    EXPECT_EQ(value_of(ClientNetwork::parse(row.network))
                  .contains(value_of(parse_client_address(row.address))),
              row.contains)
        << row.network << " " << row.address;
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
