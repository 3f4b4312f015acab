#include "app/policy_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <tuple>
#include <vector>

namespace ioc_exporter::app {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

CommandResult run(const std::vector<const char*>& words) {
  const bool learns = std::string_view(words[0]) == "learn";
  return ioc_exporter::run(learns ? policy_learn_command() : policy_test_command(),
                           static_cast<int>(words.size()) - 1, words.data() + 1);
}

class PolicyCommand : public testing::Test {
 protected:
  std::string write(const char* name, const std::string& text) {
    const auto path = std::filesystem::path(testing::TempDir()) / name;
    std::ofstream(path) << text;
    return path.string();
  }
};

constexpr const char* kPolicy = R"(policy:
  rules:
    - name: feedback
      action: expect
      users: feedback
    - name: kicker
      action: forbid
      pvs: INJ:.*
    - name: operators
      action: allow
      clients: 10.0.0.0/8
      operations: write
)";

// {words behind `test FILE`, status, how the last line begins}
using Verdict = std::tuple<std::vector<const char*>, int, const char*>;

void expect_verdicts(const std::string& file, const std::vector<Verdict>& verdicts) {
  for (auto [words, status, last] : verdicts) {
    words.insert(words.begin(), {"test", file.c_str()});
    const CommandResult result = run(words);
    EXPECT_EQ(result.status, status) << result.err << testing::PrintToString(words);
    EXPECT_THAT(result.out, HasSubstr(std::string("\n") + last)) << testing::PrintToString(words);
  }
}

TEST_F(PolicyCommand, TestSaysWhichRuleDecides) {
  const std::string file = write("policy_test.yml", kPolicy);
  const std::vector<const char*> words{"test",   file.c_str(), "--pv=SR:Q1",
                                       "--user", "operator",   "--client=10.0.0.7"};
  EXPECT_THAT(run(words).out,
              ContainsRegex("\n3 +feedback +expect +no: .*\n6 +kicker +forbid +no: .*\n9 +"
                            "operators +allow +decides\n"));
  expect_verdicts(
      file, {{{"--pv=SR:Q1", "--user", "operator", "--client=10.0.0.7"}, 0, "allowed, by rule op"},
             {{"--pv=SR:Q1", "--client=10.0.0.7", "--op=write_notify"},
              4,
              "unexpected, by rule default: "},
             {{"--pv=INJ:K"}, 4, "forbidden, by rule kicker: "},
             {{"--client=10.0.0.7"}, 4, "unjudged, "}});
}

TEST_F(PolicyCommand, TestJudgesWritesInsideTheIoc) {
  const std::string file = write("policy_inside.yml", R"(policy:
  rules:
    - name: outside
      action: forbid
      pvs: BL:.*
    - name: sequence
      action: allow
      inside: true
      users: shutterSeq
      operations: write
    - name: others
      action: forbid
      inside: true
      pvs: BL:Shutter:.*
)");
  expect_verdicts(
      file,
      {{{"--inside", "--pv=BL:Shutter:Open", "--user=shutterSeq"}, 0, "allowed, by rule seq"},
       {{"--inside", "--pv=BL:Shutter:Open", "--user", "X:calc"}, 4, "forbidden, by rule oth"},
       {{"--inside", "--user=X:calc"}, 4, "unjudged, "},
       // The default is for clients.
       {{"--inside", "--pv=BL:Slit", "--user=X:calc"}, 0, "expected, by no rule: "},
       {{"--pv=BL:Slit"}, 4, "forbidden, by rule outside: "}});
}

TEST_F(PolicyCommand, TestNamesItsErrors) {
  EXPECT_EQ(run({"test", "/nowhere/site.yml"}).status, 1);
  const std::string none = write("policy_none.yml", "{}\n");
  EXPECT_THAT(run({"test", none.c_str()}).err, HasSubstr("has no section policy"));
  const std::string bad = write("policy_bad.yml", "policy:\n  rules:\n    - name: a\n");
  EXPECT_EQ(run({"test", bad.c_str()}).status, 1);
  EXPECT_THAT(run({"test", bad.c_str()}).err, HasSubstr(bad + ":3:"));
  for (const std::vector<const char*>& words :
       std::vector<std::vector<const char*>>{{"test"},
                                             {"test", "a", "b"},
                                             {"test", "a", "--op=put"},
                                             {"test", "a", "--client=console"},
                                             {"test", "a", "--time=noon"},
                                             {"test", "a", "--pv"},
                                             {"test", "a", "--rule=x"},
                                             {"test", "a", "--inside=x"},
                                             {"test", "a", "--inside", "--client-host=c1"},
                                             {"test", "a", "--inside", "--client=10.0.0.7"},
                                             {"learn", "x"},
                                             {"learn", "--by=host"}})
    EXPECT_EQ(run(words).status, 2) << testing::PrintToString(words);
  for (const std::vector<const char*>& words :
       std::vector<std::vector<const char*>>{{"test", "--help"}, {"learn", "-h"}}) {
    EXPECT_EQ(run(words).status, 0) << testing::PrintToString(words);
    EXPECT_THAT(run(words).out, HasSubstr("EXIT STATUS"));
  }
}

TEST_F(PolicyCommand, LearnProposesAPolicyThatExpectsAllSeenPuts) {
  const std::string scrape =
      write("policy_scrape.txt",
            "epics_puts_total{ioc=\"a\",protocol=\"ca\",pv=\"SR:Q1.VAL\",client=\"10.0.0."
            "7\",user=\"op\",client_host=\"c1\","
            "op=\"write\"} 23\n"
            "epics_puts_total{ioc=\"a\",protocol=\"ca\",pv=\"x'\\\"\\\\x5Cx\\\\xFF: "
            "#\",client=\"\",user=\"\",client_host=\"\","
            "op=\"write\"} 1\n");
  const std::string from = "--from=" + scrape;
  for (const char* by : {"--by=user", "--by=client"}) {
    const CommandResult learned = run({"learn", from.c_str(), by});
    ASSERT_EQ(learned.status, 0) << learned.err;
    const std::string proposal = write("policy_proposal.yml", learned.out);
    const CommandResult test = run({"test", proposal.c_str(), "--pv=SR:Q1.VAL", "--user=op",
                                    "--host=c1", "--client=10.0.0.7"});
    EXPECT_EQ(test.status, 0) << test.out << test.err << learned.out;
    EXPECT_EQ(run({"test", proposal.c_str(), "--pv=SR:Q1", "--user=rogue"}).status, 4);
  }
}

TEST_F(PolicyCommand, LearnProposesNothingThatIsForbidden) {
  const std::string page = write(
      "policy_forbidden.txt",
      "epics_puts_total{pv=\"A\",client=\"10.0.0.7\",user=\"op\",client_host=\"c1\",op=\"write\"} "
      "1\n"
      "epics_puts_total{pv=\"B\",client=\"10.0.0.8\",user=\"op\",client_host=\"c2\",op=\"write\"} "
      "1\n"
      "epics_puts_total{pv=\"A\",client=\"10.0.0.8\",user=\"op\",client_host=\"c2\",op=\"write\"} "
      "1\n"
      "epics_unexpected_puts_total{pv=\"A\",client=\"10.0.0.8\",user=\"op\",client_host=\"c2\","
      "rule=\"r\",action=\"forbidden\"} 1\n");
  const std::string from = "--from=" + page;
  const CommandResult both = run({"learn", from.c_str()});
  EXPECT_EQ(both.status, 1);
  EXPECT_THAT(both.err, HasSubstr("try --by=client"));
  const CommandResult learned = run({"learn", from.c_str(), "--by=client"});
  ASSERT_EQ(learned.status, 0) << learned.err;
  const std::string proposal = write("policy_proposal.yml", learned.out);
  EXPECT_EQ(run({"test", proposal.c_str(), "--pv=A", "--user=op", "--host=c2", "--client=10.0.0.8"})
                .status,
            4);
  EXPECT_EQ(run({"test", proposal.c_str(), "--pv=B", "--user=op", "--host=c2", "--client=10.0.0.8"})
                .status,
            0);
}

TEST_F(PolicyCommand, LearnNamesAnUnreadableSource) {
  EXPECT_EQ(run({"learn", "--from=/nowhere/scrape"}).status, 1);
  const std::string scrape = "--from=" + write("policy_empty.txt", "up 1\n");
  EXPECT_THAT(run({"learn", scrape.c_str()}).err, HasSubstr("no put was seen"));
  EXPECT_THAT(run({"learn", "--from=http://127.0.0.1:1"}).err,
              HasSubstr("ask the exporter at http://127.0.0.1:1/metrics: "));
}

}  // namespace
}  // namespace ioc_exporter::app
