#include "app/policy_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

namespace ioc_exporter::app {
namespace {

using testing::HasSubstr;

CommandResult run(const std::vector<const char*>& words) {
  return policy_command(static_cast<int>(words.size()), words.data());
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

TEST_F(PolicyCommand, TestSaysWhichRuleDecides) {
  const std::string file = write("policy_test.yml", kPolicy);
  const auto test = [&file](std::vector<const char*> words) {
    words.insert(words.begin(), {"test", file.c_str()});
    return run(words);
  };
  const CommandResult allowed = test({"--pv=SR:Q1", "--user", "operator", "--client=10.0.0.7"});
  EXPECT_EQ(allowed.status, 0) << allowed.err;
  EXPECT_THAT(allowed.out, HasSubstr("pv SR:Q1, user operator, host (not known), client 10.0.0.7, "
                                     "write\n"));
  EXPECT_THAT(allowed.out, HasSubstr("3     feedback   expect  no: the user is \"operator\", it "
                                     "wants feedback\n"));
  EXPECT_THAT(allowed.out, HasSubstr("6     kicker     forbid  no: the PV is \"SR:Q1\", it "
                                     "wants INJ:.*\n"));
  EXPECT_THAT(allowed.out, HasSubstr("9     operators  allow   decides\n"));
  EXPECT_THAT(allowed.out, HasSubstr("allowed, by rule operators: it has no series\n"));

  const CommandResult unexpected = test({"--pv=SR:Q1", "--client=10.0.0.7", "--op=write_notify"});
  EXPECT_EQ(unexpected.status, 3);
  EXPECT_THAT(unexpected.out, HasSubstr("no: it is only for write\n"));
  EXPECT_THAT(unexpected.out, HasSubstr("unexpected, by rule default: counts in "
                                        "epics_unexpected_puts_total{rule=\"default\",action="
                                        "\"unexpected\"}\n"));
  const CommandResult forbidden = test({"--pv=INJ:K"});
  EXPECT_EQ(forbidden.status, 3);
  EXPECT_THAT(forbidden.out, HasSubstr("forbidden, by rule kicker: "));
  const CommandResult unknown = test({"--client=10.0.0.7"});
  EXPECT_EQ(unknown.status, 3);
  EXPECT_THAT(unknown.out, HasSubstr("unjudged, since the PV is not known: counts in "));
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
  const auto test = [&file](std::vector<const char*> words) {
    words.insert(words.begin(), {"test", file.c_str(), "--inside"});
    return run(words);
  };
  const CommandResult allowed = test({"--pv=BL:Shutter:Open", "--user=shutterSeq"});
  EXPECT_EQ(allowed.status, 0) << allowed.err;
  EXPECT_THAT(allowed.out, HasSubstr("pv BL:Shutter:Open, inside the IOC by shutterSeq, write\n"));
  EXPECT_THAT(allowed.out,
              HasSubstr("3     outside   forbid  no: it is not for those inside the IOC\n"));
  EXPECT_THAT(allowed.out, HasSubstr("6     sequence  allow   decides\n"));
  EXPECT_THAT(allowed.out, HasSubstr("allowed, by rule sequence: it has no series\n"));

  const CommandResult forbidden = test({"--pv=BL:Shutter:Open", "--user", "X:calc"});
  EXPECT_EQ(forbidden.status, 3);
  EXPECT_THAT(forbidden.out, HasSubstr("no: the writer is \"X:calc\", it wants shutterSeq\n"));
  EXPECT_THAT(forbidden.out, HasSubstr("forbidden, by rule others: counts in "));
  const CommandResult unknown = test({"--user=X:calc"});
  EXPECT_EQ(unknown.status, 3);
  EXPECT_THAT(unknown.out, HasSubstr("unjudged, since the PV is not known: "));

  const CommandResult expected = test({"--pv=BL:Slit", "--user=X:calc"});
  EXPECT_EQ(expected.status, 0) << "the default is for clients";
  EXPECT_THAT(
      expected.out,
      HasSubstr("-     -         expect  decides: no rule matches this write inside the IOC\n"));
  EXPECT_THAT(expected.out, HasSubstr("expected, by no rule: it has no series\n"));
  EXPECT_EQ(run({"test", file.c_str(), "--pv=BL:Slit"}).status, 3) << "from outside";

  EXPECT_THAT(test({"--client=10.0.0.7"}).err,
              HasSubstr("--inside and --client: a write inside the IOC has none"));
}

TEST_F(PolicyCommand, TestNamesItsErrors) {
  EXPECT_EQ(run({"test", "/nowhere/site.yml"}).status, 1);
  const std::string none = write("policy_none.yml", "{}\n");
  EXPECT_THAT(run({"test", none.c_str()}).err, HasSubstr("has no section policy"));
  const std::string bad = write("policy_bad.yml", "policy:\n  rules:\n    - name: a\n");
  EXPECT_EQ(run({"test", bad.c_str()}).status, 1);
  EXPECT_THAT(run({"test", bad.c_str()}).err, HasSubstr(bad + ":3:"));
  for (const std::vector<const char*>& words :
       std::vector<std::vector<const char*>>{{},
                                             {"try"},
                                             {"test"},
                                             {"test", "a", "b"},
                                             {"test", "a", "--op=put"},
                                             {"test", "a", "--client=console"},
                                             {"test", "a", "--time=noon"},
                                             {"test", "a", "--pv"},
                                             {"test", "a", "--rule=x"},
                                             {"test", "a", "--inside=x"},
                                             {"test", "a", "--inside", "--host=c1"},
                                             {"learn", "x"},
                                             {"learn", "--by=host"}})
    EXPECT_EQ(run(words).status, 2) << testing::PrintToString(words);
  for (const std::vector<const char*>& words : std::vector<std::vector<const char*>>{
           {"--help"}, {"-h"}, {"test", "--help"}, {"learn", "-h"}}) {
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
    EXPECT_EQ(run({"test", proposal.c_str(), "--pv=SR:Q1", "--user=rogue"}).status, 3);
  }
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
