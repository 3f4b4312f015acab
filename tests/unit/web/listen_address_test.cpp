#include "web/listen_address.h"

#include <gtest/gtest.h>

#include "web/own_sockets.h"

namespace ioc_exporter::web {
namespace {

void expect_parsed(const char* text, const char* host, std::uint16_t port, const char* shown) {
  const auto address = ListenAddress::parse(text);
  ASSERT_TRUE(address.ok()) << address.error().message();
  EXPECT_EQ(address->host, host);
  EXPECT_EQ(address->port, port);
  EXPECT_EQ(address->text(), shown);
}

TEST(ListenAddress, PrometheusForms) {
  expect_parsed(":10064", "", 10064, ":10064");
  expect_parsed("10064", "", 10064, ":10064");
  expect_parsed("0.0.0.0:10064", "0.0.0.0", 10064, "0.0.0.0:10064");
  expect_parsed("127.0.0.1:0", "127.0.0.1", 0, "127.0.0.1:0");
  expect_parsed("[::1]:10064", "::1", 10064, "[::1]:10064");
  expect_parsed("localhost:65535", "localhost", 65535, "localhost:65535");
}

TEST(ListenAddress, BadOnesAreRefusedInWords) {
  const std::string port = "the port is no number from 0 to 65535";
  const std::string brackets = "an IPv6 address stands in brackets, as in [::1]:10064";
  const std::pair<const char*, std::string> bad[] = {
      {"", port},
      {":", port},
      {"localhost", port},
      {":65536", port},
      {":-1", port},
      {":10064x", port},
      {"127.0.0.1:", port},
      {"::1:10064", brackets},
      {"[::1:80", brackets},
      {"[]:80", brackets},
      {"a b:80", "the host is no address and no name"},
      {"a,b:80", "the host is no address and no name"}};
  for (const auto& [text, why] : bad) {
    const auto address = ListenAddress::parse(text);
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_EQ(address.error().message(), "listen address \"" + std::string(text) + "\": " + why);
  }
}

TEST(TryListening, NamesWhatCannotBe) {
  std::vector<ListenAddress> addresses = {{"192.0.2.1", 0}};  // a documentation address
  const auto foreign = try_listening(addresses);
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.error().message(), "listen on 192.0.2.1:0: Cannot assign requested address");
  addresses = {{"host.invalid", 1}};
  const auto nameless = try_listening(addresses);
  ASSERT_FALSE(nameless.ok());
  EXPECT_EQ(nameless.error().message().rfind("listen on host.invalid:1: ", 0), 0u);
}

TEST(TryListening, GivesCivetwebsNames) {
  std::vector<ListenAddress> addresses = {{"127.0.0.1", 0}, {"localhost", 0}, {"", 0}};
  const auto names = try_listening(addresses);
  ASSERT_TRUE(names.ok()) << names.error().message();
  ASSERT_EQ(names->size(), 3u);
  EXPECT_EQ((*names)[0], "127.0.0.1:0");
  EXPECT_EQ((*names)[1], "127.0.0.1:0");
  EXPECT_TRUE((*names)[2] == "+0" || (*names)[2] == "0") << (*names)[2];
  EXPECT_EQ(addresses[1].numeric, "127.0.0.1");
  EXPECT_EQ(addresses[2].numeric, "");
}

TEST(PlainAddress, AnIpv4ClientIsTheSameOnASocketOfBothFamilies) {
  EXPECT_EQ(plain_address("::ffff:10.0.0.7"), "10.0.0.7");
  for (const char* text : {"10.0.0.7", "::1", "::ffff:a00:7", "fe80::1"})
    EXPECT_EQ(plain_address(text), text);
}

}  // namespace
}  // namespace ioc_exporter::web
