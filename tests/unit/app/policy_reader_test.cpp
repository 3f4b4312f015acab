#include "policy/policy_reader.h"

#include <gmock/gmock.h>

#include "app/site_config.h"
#include "support/value_of.h"

namespace ioc_exporter::policy {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Result<PolicyText> parse(const std::string& text) {
  const auto config = app::parse_config(text, "site.yml");
  if (!config) return config.error();
  return config->policy ? *config->policy : PolicyText();
}

std::string problem(const std::string& rule) {
  return error_of(parse("policy:\n  rules:\n" + rule));
}

TEST(PolicyReader, ReadsAll) {
  const auto policy = value_of(parse(R"(
policy:
  default: forbid
  longest_scrape_interval: 15s  # of version 0.1.0
  rules:
    - name: feedback
      action: expect
      pvs: SR:C[HV][0-9]+:Current-SP
      users: [feedback, "fb2"]
      hosts: ['ioc.*']
      clients: [10.0.4.0/24, "2001:db8::/64"]
      operations: write
      times:
        - days: mon-fri
          hours: 08:00-17:00
          zone: Europe/Berlin
        - days: [sat, sun]
    - {name: rest, action: allow}
)"));
  EXPECT_EQ(policy.fallback, Action::forbid);
  ASSERT_EQ(policy.rules.size(), 2u);
  const RuleText& rule = policy.rules[0];
  EXPECT_EQ(rule.name, "feedback");
  EXPECT_EQ(rule.action, Action::expect);
  EXPECT_EQ(rule.line, 6);
  EXPECT_THAT(rule.pvs, ElementsAre("SR:C[HV][0-9]+:Current-SP"));
  EXPECT_THAT(rule.users, ElementsAre("feedback", "fb2"));
  EXPECT_THAT(rule.hosts, ElementsAre("ioc.*"));
  ASSERT_EQ(rule.clients.size(), 2u);
  EXPECT_EQ(rule.clients[1].text(), "2001:db8::/64");
  EXPECT_TRUE(rule.write);
  EXPECT_FALSE(rule.write_notify);
  EXPECT_TRUE(rule.had_times);
  EXPECT_FALSE(policy.rules[1].had_times);
  EXPECT_EQ(policy.rules[1].action, Action::allow);
  EXPECT_THAT(policy.rules[1].pvs, IsEmpty());
}

TEST(PolicyReader, NothingIsAPolicyOfDefaults) {
  const auto policy = value_of(parse("policy:\n"));
  EXPECT_THAT(policy.rules, IsEmpty());
  EXPECT_EQ(policy.fallback, Action::unexpected);
}

TEST(PolicyReader, NamesThePlaceOfEachError) {
  const auto says = [](const std::string& rule, const std::string& what) {
    EXPECT_THAT(problem(rule),
                testing::AllOf(testing::StartsWith("site.yml:"), testing::HasSubstr(what)))
        << rule;
  };
  says("    - action: allow\n", "name is missing");
  says("    - name: a\n", "action is missing");
  says("    - {name: '', action: allow}\n", "must have 1 to 100 characters");
  says("    - {name: default, action: allow}\n", "stands for what no rule matches");
  says("    - {name: a, action: allow}\n    - {name: a, action: allow}\n", "is called \"a\", too");
  says("    - {name: a, action: refuse}\n", "\"refuse\" is none of allow, expect, forbid");
  says("    - {name: a, action: unexpected}\n", "\"unexpected\" is none of");
  says("    - {name: a, action: allow, pv: x}\n", "no such key");
  says("    - {name: a, action: allow, users: []}\n", "would match nothing");
  says("    - {name: a, action: allow, operations: [put]}\n", "neither write nor write_notify");
  EXPECT_THAT(error_of(parse("policy: {default: refuse}")),
              testing::HasSubstr("none of unexpected, forbid, allow, expect"));
}

// The line is that of the list's item.
TEST(PolicyReader, NamesTheLineOfEachItem) {
  const std::string text =
      "    - name: a\n"         // line 3
      "      action: allow\n"   // 4
      "      pvs:\n"            // 5
      "        - good\n"        // 6
      "        - 'SR:('\n"      // 7
      "      clients:\n"        // 8
      "        - 10.0.0.1/8\n"  // 9
      "      hosts: '['\n";     // 10
  const std::string said = problem(text);
  EXPECT_THAT(said, testing::HasSubstr("site.yml:7:"));
  EXPECT_THAT(said, testing::HasSubstr("missing ): SR:("));
  EXPECT_THAT(said, testing::HasSubstr("site.yml:9:"));
  EXPECT_THAT(said, testing::HasSubstr("has bits beyond the first 8"));
  EXPECT_THAT(said, testing::HasSubstr("site.yml:10:"));
}

}  // namespace
}  // namespace ioc_exporter::policy
