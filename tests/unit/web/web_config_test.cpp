#include "web/web_config.h"

#include <gtest/gtest.h>

#include "web/tls.h"

namespace ioc_exporter::web {
namespace {

const std::string kHash = "$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi";

std::string problems_of(const std::string& text) {
  const auto config = parse_web_config(text, "web.yml");
  return config ? "" : config.error().message();
}

TEST(WebConfig, ReadsTheFormatOfTheExporterToolkit) {
  const auto config = parse_web_config(
      "basic_auth_users:\n  alice: " + kHash + "\n  bob: " + kHash +
          "\nhttp_server_config:\n  http2: true\n  headers:\n    X-Frame-Options: deny\n"
          "    X-Content-Type-Options:\n    Strict-Transport-Security: max-age=3600\n"
          "rate_limit:\n  interval: \"1s\"\n  burst: 20\n",
      "web.yml");
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->users.size(), 2u);
  EXPECT_EQ(config->users.at("alice"), kHash);
  EXPECT_EQ(config->headers,
            (std::map<std::string, std::string>{{"X-Frame-Options", "deny"},
                                                {"X-Content-Type-Options", ""},
                                                {"Strict-Transport-Security", "max-age=3600"}}));
  ASSERT_TRUE(config->rate_limit);
  EXPECT_EQ(config->rate_limit->interval, std::chrono::seconds(1));
  EXPECT_EQ(config->rate_limit->burst, 20u);
}

TEST(WebConfig, AnEmptyFileAsksForNothing) {
  const auto config = parse_web_config("", "web.yml");
  ASSERT_TRUE(config);
  EXPECT_TRUE(config->users.empty() && config->headers.empty() && !config->rate_limit);
  EXPECT_EQ(problems_of("rate_limit: {interval: 0s, burst: 1}\n"), "");
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

}  // namespace
}  // namespace ioc_exporter::web
