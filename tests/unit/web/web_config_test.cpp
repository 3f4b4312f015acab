// The server's addresses and its file.
#include <gtest/gtest.h>

#include "support/value_of.h"
#include "web/client_address.h"
#include "web/listen_address.h"
#include "web/tls.h"
#include "web/web_config.h"

namespace ioc_exporter::web {
namespace {

const std::string kHash = "$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi";

std::string problems_of(const std::string& text) {
  return error_of(parse_web_config(text, "web.yml"));
}

TEST(WebConfig, ReadsTheFormatOfTheExporterToolkit) {
  const auto config = value_of(parse_web_config(
      "basic_auth_users:\n  alice: " + kHash + "\n  bob: " + kHash +
          "\nhttp_server_config:\n  http2: true\n  headers:\n    X-Frame-Options: deny\n"
          "    X-Content-Type-Options:\n    Strict-Transport-Security: max-age=3600\n"
          "rate_limit:\n  interval: \"1s\"\n  burst: 20\n",
      "web.yml"));
  EXPECT_EQ(config.users.size(), 2u);
  EXPECT_EQ(config.users.at("alice"), kHash);
  EXPECT_EQ(config.headers,
            (std::map<std::string, std::string>{{"X-Frame-Options", "deny"},
                                                {"X-Content-Type-Options", ""},
                                                {"Strict-Transport-Security", "max-age=3600"}}));
  EXPECT_EQ(config.gone.size(), 1u);  // rate_limit
}

TEST(WebConfig, AnEmptyFileAsksForNothing) {
  const auto config = value_of(parse_web_config("", "web.yml"));
  EXPECT_TRUE(config.users.empty() && config.headers.empty() && config.gone.empty());
}

TEST(WebConfig, RefusesTlsWhereItHasNoneAndSaysWhy) {
  const std::string problem = problems_of("tls_server_config:\n  cert_file: a\n  key_file: b\n");
  if (Tls::available()) {
    EXPECT_EQ(problem, "");
    return;
  }
  EXPECT_EQ(problem.find("web.yml:2:3: tls_server_config: this ioc_exporter does not speak TLS"),
            0u)
      << problem;
  EXPECT_NE(problem.find("docs/configuration.md#tls"), std::string::npos);
}

TEST(WebConfig, TellsAllProblemsButNoHash) {
  std::string slow = kHash;
  slow.replace(4, 2, "16");
  const std::string problems =
      problems_of("basic_auth_users:\n  alice: secret\n  bob: " + slow + "\n  'c:d': " + kHash +
                  "\nhttp_server_config:\n  headers:\n    X-Frame-Options: allow\n    Server: x\n"
                  "    X-XSS-Protection: \"a\\nb\"\nbasic_auth: 3\n");
  EXPECT_EQ(problems,
            "web.yml:2:10: basic_auth_users.alice: no bcrypt hash ($2y$10$...; make one with "
            "htpasswd -nBC 10 \"\")\n"
            "web.yml:3:8: basic_auth_users.bob: the cost of a bcrypt hash must be 4 to 15: a check "
            "with a higher one takes seconds\n"
            "web.yml:4:10: basic_auth_users.c:d: a user's name must not be empty, and must have no "
            "colon\n"
            "web.yml:7:22: http_server_config.headers.X-Frame-Options: must be deny or sameorigin\n"
            "web.yml:8:13: http_server_config.headers.Server: this header cannot be set\n"
            "web.yml:9:23: http_server_config.headers.X-XSS-Protection: a header must have no "
            "control characters\n"
            "web.yml:10:1: basic_auth: no such key");
}

void expect_parsed(const char* text, const char* host, std::uint16_t port, const char* shown) {
  const auto address = value_of(ListenAddress::parse(text));
  EXPECT_EQ(address.host, host);
  EXPECT_EQ(address.port, port);
  EXPECT_EQ(address.text(), shown);
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
  for (const auto& [text, why] : bad)
    EXPECT_EQ(error_of(ListenAddress::parse(text)),
              "listen address \"" + std::string(text) + "\": " + why);
}

TEST(TryListening, NamesTheAddressThatFails) {
  std::vector<ListenAddress> addresses = {{"192.0.2.1", 0}};  // a documentation address
  EXPECT_EQ(error_of(try_listening(addresses)),
            "listen on 192.0.2.1:0: Cannot assign requested address");
  addresses = {{"host.invalid", 1}};
  EXPECT_TRUE(error_of(try_listening(addresses)).starts_with("listen on host.invalid:1: "));
}

TEST(TryListening, GivesCivetwebsNames) {
  std::vector<ListenAddress> addresses = {{"127.0.0.1", 0}, {"localhost", 0}, {"", 0}};
  const auto names = value_of(try_listening(addresses));
  ASSERT_EQ(names.size(), 3u);
  EXPECT_EQ(names[0], "127.0.0.1:0");
  EXPECT_EQ(names[1], "127.0.0.1:0");
  EXPECT_TRUE(names[2] == "+0" || names[2] == "0") << names[2];
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
