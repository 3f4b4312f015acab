#include "policy/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace ioc_exporter::policy {
namespace {

RuleText rule(std::string name, Action action, std::vector<std::string> pvs = {},
              std::vector<std::string> users = {}) {
  RuleText text;
  text.name = std::move(name);
  text.action = action;
  text.pvs = std::move(pvs);
  text.users = std::move(users);
  return text;
}

Policy policy(std::vector<RuleText> rules, Action fallback = Action::unexpected) {
  PolicyText text;
  text.rules = std::move(rules);
  text.fallback = fallback;
  return Policy(std::move(text));
}

const Put kPut{"SR:Q1", "operator", "console1", "10.0.0.7", PutOp::write};

TEST(Policy, TheFirstRuleThatMatchesDecides) {
  const Policy judge =
      policy({rule("feedback", Action::expect, {}, {"feedback"}),
              rule("never", Action::forbid, {"SR:Q[0-9]+"}), rule("all", Action::allow)});
  EXPECT_EQ(judge.decide(kPut), 1u);
  EXPECT_EQ(judge.decide({"SR:Q1", "feedback", "", ""}), 0u);
  EXPECT_EQ(judge.decide({"SR:B1", "operator", "", ""}), 2u);
  EXPECT_EQ(judge.name(1), "never");
  EXPECT_EQ(judge.action(1), Action::forbid);
}

TEST(Policy, TheDefaultDecidesPutsThatNoRuleMatches) {
  const Policy judge = policy({rule("other", Action::allow, {}, {"somebody"})}, Action::forbid);
  EXPECT_EQ(judge.decide(kPut), Policy::kNoRule);
  EXPECT_EQ(judge.name(Policy::kNoRule), "default");
  EXPECT_EQ(judge.action(Policy::kNoRule), Action::forbid);
  EXPECT_EQ(policy({}).action(Policy::kNoRule), Action::unexpected);
}

// Whatever the default is, and whatever other rules say.
TEST(Policy, WritesInsideTheIocAreForRulesThatNameThem) {
  RuleText good = rule("good", Action::expect, {"SR:Q1"}, {"shutterSeq", "SR:Src"}),
           others = rule("others", Action::forbid, {"SR:Q1"});
  good.inside = others.inside = true;
  const Policy judge = policy({rule("all", Action::forbid), good, others}, Action::forbid);
  const auto decided = [&judge](std::string_view pv, std::string_view writer) {
    return judge.decide({pv, "", "", writer, PutOp::write, true});
  };
  EXPECT_EQ(decided("SR:Q1", "shutterSeq"), 1u);
  EXPECT_EQ(decided("SR:Q1", "SR:Src"), 1u);
  EXPECT_EQ(decided("SR:Q1.VAL", "otherSeq"), 2u);
  EXPECT_EQ(decided("SR:Q2", "otherSeq"), Policy::kInside);
  EXPECT_EQ(judge.action(Policy::kInside), Action::expect);
  EXPECT_EQ(judge.name(Policy::kInside), "default");
  EXPECT_EQ(judge.decide(kPut), 0u);
  EXPECT_EQ(policy({good, others}).decide(kPut), Policy::kNoRule);
}

// An unknown name is in no list, unless the list allows an empty name.
TEST(Policy, AnUnknownNameMatchesNoList) {
  RuleText all = rule("all", Action::allow, {"SR:.*"}, {"[a-z]+"});
  all.clients = {*ClientNetwork::parse("0.0.0.0/0")};
  EXPECT_EQ(policy({all}).decide({"SR:Q1", "", "", "10.0.0.7"}), Policy::kNoRule);
  EXPECT_EQ(policy({all}).decide({"SR:Q1", "operator", "", ""}), Policy::kNoRule);
  EXPECT_EQ(policy({rule("any", Action::allow)}).decide({"SR:Q1", "", "", ""}), 0u);
}

TEST(Policy, APutToAPvWithoutANameIsUnjudged) {
  const Policy judge = policy({rule("any", Action::allow)}, Action::forbid);
  const Put unknown{"", "operator", "", "10.0.0.7"};
  EXPECT_EQ(judge.decide(unknown), Policy::kUnjudged);
  EXPECT_EQ(judge.name(Policy::kUnjudged), "(no name)");
  EXPECT_EQ(judge.action(Policy::kUnjudged), Action::unjudged);
}

// It may be what a rule forbids: then no later rule allows it, and only what is known forbids it.
TEST(Policy, AnUnknownNameDoesNotGetPastAForbidRule) {
  RuleText never = rule("never", Action::forbid, {"INJ:.*"});
  never.clients = {*ClientNetwork::parse("10.0.0.0/24")};
  const Policy judge =
      policy({never, rule("rogue", Action::forbid, {}, {"rogue"}), rule("all", Action::allow)});
  const auto verdict = [&judge](Put put) {
    const std::uint32_t decides = judge.decide(put);
    return std::string(judge.name(decides)) + " " + std::string(verdict_of(judge.action(decides)));
  };
  EXPECT_EQ(verdict({"INJ:K", "operator", "", "10.0.0.7"}), "never forbidden");
  EXPECT_EQ(verdict({"INJ:K", "operator", "", ""}), "never unexpected");
  EXPECT_EQ(verdict({"INJ:K", "operator", "", "10.9.0.7"}), "all allowed");
  EXPECT_EQ(verdict({"SR:Q1", "", "", "10.0.0.7"}), "rogue unexpected");
  EXPECT_EQ(policy({never}).decide({"INJ:K", "operator", "", ""}), Policy::kNoRule);
}

TEST(Policy, OtherSpellingsOfANameDoNotGetAround) {
  const Policy judge =
      policy({rule("never", Action::forbid, {"SR:Q1", "SR:Q2\\.DRVH"})}, Action::allow);
  const auto forbids = [&judge](std::string_view pv) {
    return judge.decide({pv, "", "", ""}) == 0;
  };
  for (const char* pv : {"SR:Q1", "SR:Q1.VAL", "SR:Q1.", "SR:Q1.VAL$", "SR:Q1.{\"dbnd\":{}}",
                         "SR:Q1.VAL[0:1]", "SR:Q2.DRVH", "SR:Q2.DRVH$"})
    EXPECT_TRUE(forbids(pv)) << pv;
  for (const char* pv : {"SR:Q1.DESC", "SR:Q11", "SR:Q2", "SR:Q2.DRVL"})
    EXPECT_FALSE(forbids(pv)) << pv;
  EXPECT_EQ(plain_name("SR:Q1.VAL[1]"), "SR:Q1");
  EXPECT_EQ(plain_name("SR:Q1.DESC$"), "SR:Q1.DESC");
  EXPECT_EQ(plain_name("other server: 1.5-2"), "other server: 1.5-2");
}

TEST(Policy, ModifiersAreNotMatched) {
  const Policy judge =
      policy({rule("lamps", Action::allow, {".*:Lamp.*", "SR:Shutter.VAL"})}, Action::forbid);
  const auto allows = [&judge](std::string_view pv) { return judge.decide({pv, "", "", ""}) == 0; };
  EXPECT_TRUE(allows("X:Lamp.VAL{/*:Magnet*/}"));
  EXPECT_TRUE(allows("SR:Shutter"));
  EXPECT_FALSE(allows("X:Magnet.VAL{/*:Lamp*/}"));
  EXPECT_FALSE(allows("X:Magnet.{\"ts\":{}/*:Lamp*/}"));
  EXPECT_FALSE(allows("X:Magnet.VAL /*:Lamp*/"));
}

TEST(Policy, AllThatARuleNamesMustMatchAndItSaysWhatDoesNot) {
  RuleText all = rule("all", Action::allow, {"SR:.*"}, {"operator", "expert"});
  all.hosts = {"console[0-9]"};
  all.clients = {*ClientNetwork::parse("192.168.0.0/16"), *ClientNetwork::parse("10.0.0.0/24")};
  all.write_notify = false;
  const Policy judge = policy({all});
  const std::pair<Put, const char*> rows[] = {
      {kPut, ""},
      {{"BR:Q1", "operator", "console1", "10.0.0.7", PutOp::write},
       "the PV is \"BR:Q1\", it wants SR:.*"},
      {{"SR:Q1", "rogue", "console1", "10.0.0.7", PutOp::write},
       "the user is \"rogue\", it wants operator, expert"},
      {{"SR:Q1", "", "console1", "10.0.0.7", PutOp::write},
       "the user is not known, it wants operator, expert"},
      {{"SR:Q1", "operator", "console12", "10.0.0.7", PutOp::write},
       "the host is \"console12\", it wants console[0-9]"},
      {{"SR:Q1", "operator", "console1", "10.0.1.7", PutOp::write},
       "the client's address is \"10.0.1.7\", it wants 192.168.0.0/16, 10.0.0.0/24"},
      {{"SR:Q1", "operator", "console1", "10.0.0.7", PutOp::write_notify}, "it is only for write"}};
  for (const auto& [put, why] : rows) {
    EXPECT_EQ(judge.mismatch(0, put), why);
    EXPECT_EQ(judge.decide(put) == 0, *why == '\0') << why;
  }
  std::swap(all.write, all.write_notify);
  EXPECT_EQ(policy({all}).mismatch(0, kPut), "it is only for write_notify");
}

}  // namespace
}  // namespace ioc_exporter::policy
