// Rules that are proposed from the puts that were seen.
#include <gmock/gmock.h>

#include "policy/learn.h"
#include "policy/patterns.h"
#include "support/value_of.h"

namespace ioc_exporter::policy {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Patterns, MatchWholeNames) {
  const Patterns patterns({"SR:Q1", "SR:B[0-9]+:Set", "a|b"});
  for (const char* name : {"SR:Q1", "SR:B17:Set", "b"}) EXPECT_TRUE(patterns.match(name)) << name;
  for (const char* name : {"SR:Q11", "xSR:Q1", "SR:B17:Set.DESC", "ab", ""})
    EXPECT_FALSE(patterns.match(name)) << name;
  EXPECT_FALSE(Patterns().match(""));
  EXPECT_TRUE(Patterns({".*"}).match(""));
}

TEST(Patterns, AreAboutBytes) {
  EXPECT_TRUE(Patterns({".*"}).match("x\xff\ny"));
  EXPECT_TRUE(Patterns({"S\xc3\xa4ule"}).match("S\xc3\xa4ule"));
  const std::string odd("a.b\\{\"x\":1}[0]$\0|", 18);
  EXPECT_TRUE(Patterns({literal_pattern(odd)}).match(odd));
  EXPECT_FALSE(Patterns({literal_pattern(odd)}).match("aXb\\{\"x\":1}[0]$"));
  EXPECT_EQ(literal_pattern("SR:CH-1_a"), "SR:CH-1_a");
}

// Put together into one expression, it would end none of its group.
TEST(Patterns, QuotesEndWithTheirExpression) {
  const Patterns patterns({"\\Qa(b", "c.d", "\\Ee"});
  EXPECT_TRUE(patterns.match("a(b"));
  EXPECT_TRUE(patterns.match("cxd"));
  EXPECT_FALSE(patterns.match("a(b)|(?:c.d"));
}

TEST(Patterns, ErrorsAreTold) {
  EXPECT_TRUE(Patterns::check("SR:.*"));
  EXPECT_EQ(Patterns::check("SR:(").error().message(), "missing ): SR:(");
  EXPECT_FALSE(Patterns::check("a(?=b)"));
  EXPECT_FALSE(Patterns::check("a)(b"));
}

SeenPut put(std::string pv, std::string user = "op", std::string client = "10.0.0.7",
            std::uint64_t count = 1) {
  return {std::move(pv), std::move(client), std::move(user), "console1", PutOp::write, count};
}

std::string proposed(std::vector<SeenPut> puts, LearnBy by = LearnBy::user, Widen widen = Widen::no,
                     std::set<std::string> records = {}, const std::string& source = "x") {
  return propose({std::move(puts), std::move(records)}, by, widen, source);
}

TEST(Learn, ProposesARuleForEachUser) {
  EXPECT_EQ(proposed({put("SR:Q1", "op", "10.0.0.7", 5), put("SR:Q1.VAL", "op", "10.0.0.8", 2),
                      put("SR:B1.DRVH"), put("IOC:fb", "feed.back", "2001:db8::1", 100)},
                     LearnBy::user, Widen::no, {}, "a\nscrape"),
            R"(# Proposed by ioc_exporter policy learn, from a?scrape.
# It expects all that was seen there, the bad with the good: read each rule, take out what
# should not be, and widen what is too narrow. ioc_exporter policy test tries it out.
policy:
  default: unexpected
  rules:
    # 100 puts to 1 PV
    - name: 'user-feed_back'
      action: expect
      users: ['feed\.back']
      hosts: ['console1']
      clients: ['2001:db8::1']
      pvs:
        - 'IOC:fb'  # 100 puts
    # 8 puts to 2 PVs
    - name: 'user-op'
      action: expect
      users: ['op']
      hosts: ['console1']
      clients: ['10.0.0.7', '10.0.0.8']
      pvs:
        - 'SR:B1\.DRVH'  # 1 put
        - 'SR:Q1'  # 7 puts
)");
}

TEST(Learn, WhatWasSeenIsListed) {
  std::vector<SeenPut> puts;
  for (int i = 1; i <= 10; ++i) {
    std::string pv = "SR:M", client = "10.0.0.";
    pv += std::to_string(i);
    client += std::to_string(i);
    puts.push_back(put(pv + ":I-SP", "op", client));
  }
  const std::string text = proposed(puts);
  EXPECT_THAT(text, Not(HasSubstr("[0-9]")));
  EXPECT_THAT(text, HasSubstr("- 'SR:M10:I-SP'  # 1 put\n"));
  EXPECT_THAT(text, Not(HasSubstr("/24")));
}

TEST(Learn, APatternNamesThePvsThatItAdds) {
  const std::vector<SeenPut> puts = {put("SR:C1:Q1:Set"), put("SR:C1:Q2:Set"),
                                     put("SR:C1:Q13:Set", "op", "10.0.0.7", 5), put("SR:C1:B1:Set"),
                                     put("SR:C1:B2:Set")};
  const auto with = [&puts](std::set<std::string> records) {
    return proposed(puts, LearnBy::user, Widen::patterns, std::move(records));
  };
  EXPECT_THAT(
      with({"SR:C1:Q1:Set", "SR:C1:Q3:Set", "SR:C1:Q44:Set", "SR:C2:Q1:Set"}),
      HasSubstr("- 'SR:C1:Q[0-9]+:Set'  # 7 puts to 3 PVs; adds SR:C1:Q3:Set, SR:C1:Q44:Set\n"));
  EXPECT_THAT(with({"SR:C1:Q1:Set"}),
              HasSubstr("to 3 PVs; adds none of the records on that page\n"));
  EXPECT_THAT(with({}), HasSubstr("to 3 PVs; which others it adds is not known"));
  EXPECT_THAT(with({}), HasSubstr("- 'SR:C1:B1:Set'  # 1 put\n"));
  std::set<std::string> many;
  for (int i = 100; i < 123; ++i) many.insert("SR:C1:Q" + std::to_string(i) + ":Set");
  EXPECT_THAT(with(many), HasSubstr("SR:C1:Q119:Set and 3 more\n"));
}

TEST(Learn, WhatIsForbiddenIsListedAndNotProposed) {
  std::vector<SeenPut> puts;
  for (const char* pv : {"SR:Q1", "SR:Q2", "SR:Q3", "SR:Q4"}) puts.push_back(put(pv, "guest"));
  puts.back().forbidden_by = "hands off";
  puts.push_back(put("SR:X", "rogue"));
  puts.back().forbidden_by = "hands off";
  const std::string text = proposed(puts, LearnBy::user, Widen::patterns);
  EXPECT_THAT(
      text,
      HasSubstr("# Forbidden by the policy in force, so not proposed:\n"
                "#   1 put of guest@console1 (10\\.0\\.0\\.7) to SR:Q4, by rule hands off\n"));
  EXPECT_THAT(text, HasSubstr("- 'SR:Q3'  # 1 put\n"));
  EXPECT_THAT(text, Not(HasSubstr("[0-9]"))) << "a pattern would allow it";
  EXPECT_THAT(text, Not(HasSubstr("- 'SR:Q4'")));
  EXPECT_THAT(text, Not(HasSubstr("users: ['rogue']")));
}

TEST(Learn, ManyAddressesBecomeTheirNetwork) {
  std::vector<SeenPut> puts = {put("A", "op", "10.0.1.1"), put("A", "op", "")};
  for (int i = 1; i <= 5; ++i) puts.push_back(put("A", "other", "10.0.0." + std::to_string(i)));
  puts.push_back(put("A", "other", "10.0.1.1"));
  const std::string text = proposed(puts, LearnBy::user, Widen::patterns);
  EXPECT_THAT(text, HasSubstr("clients: ['10.0.0.0/24', '10.0.1.1']\n"));
  EXPECT_THAT(text, HasSubstr("# The address of one client was not known"));
}

TEST(Learn, KeepsClientsApartWhenAsked) {
  const std::vector<SeenPut> puts = {put("A", "op", "10.0.0.1"), put("B", "op", "10.0.0.2")};
  const std::string text = proposed(puts, LearnBy::client);
  EXPECT_THAT(text, HasSubstr("- name: 'user-op'\n"));
  EXPECT_THAT(text, HasSubstr("- name: 'user-op.2'\n"));
  EXPECT_THAT(proposed(puts), Not(HasSubstr("op.2")));
}

TEST(Learn, LeavesOutUnnamedPuts) {
  const std::string text =
      proposed({put("", "op", "10.0.0.7", 3), put("(other)", "op", "10.0.0.7", 4)});
  EXPECT_THAT(text, HasSubstr("# Left out: 7 puts whose PV or client is not known.\n"));
  EXPECT_THAT(text, HasSubstr("rules: []\n"));
}

TEST(Learn, HostileNamesAreQuoted) {
  const std::string text = proposed({put("a'b: {\"x\"}\n\xff", "'\n- name: all\n  action: allow")});
  EXPECT_THAT(text, HasSubstr(R"(users: ['''\x0A- name: all\x0A  action: allow'])"));
  EXPECT_THAT(text, HasSubstr(R"(- 'a''b: \{"x"\}\x0A\xFF'  # 1 put)"));
}

TEST(SeenPuts, ReadsTheirSeries) {
  const auto seen = read_seen_puts(R"(# HELP epics_puts_total Writes.
# TYPE epics_puts_total counter
epics_puts_total{ioc="a",protocol="ca",pv="SR:Q1",client="10.0.0.7",user="op",client_host="c1",op="write_notify"} 23
epics_puts_total{ioc="a",protocol="ca",pv="q\"}\\\n\\xFF\\x5Cx",client="",user="",client_host="",op="write"} 1e+06 1790000000000
epics_puts_created{ioc="a"} 1
epics_puts_total{ioc="a",protocol="pva",pv="SR:Q2",client="10.0.0.8",user="op",client_host="c2",op="put"} 5
epics_put_failures_total{pv="x"} 2
epics_unexpected_puts_total{pv="SR:Q1.VAL",client="10.0.0.7",user="op",client_host="c1",rule="r",action="forbidden"} 2
epics_unexpected_puts_total{pv="SR:Q2",client="10.0.0.8",user="op",client_host="c2",rule="default",action="unexpected"} 2
epics_record_process_total{ioc="a",record="SR:Q9"} 5
other{pv="x"} 7)");
  ASSERT_TRUE(seen) << seen.error().message();
  std::vector<std::string> puts;
  for (const SeenPut& one : seen->puts)
    puts.push_back(one.pv + " " + one.client + " " + one.user + "@" + one.host +
                   (one.op == PutOp::write ? " write " : " write_notify ") +
                   std::to_string(one.count) + " " + one.forbidden_by);
  EXPECT_EQ(puts, (std::vector<std::string>{
                      "SR:Q1 10.0.0.7 op@c1 write_notify 23 r",  // forbidden by its plain name
                      "q\"}\\\n\xff\\x  @ write 1000000 ",
                      "SR:Q2 10.0.0.8 op@c2 write 5 "}));  // by PV Access
  EXPECT_EQ(seen->records, std::set<std::string>{"SR:Q9"});
}

TEST(SeenPuts, ErrorsNameTheSource) {
  for (const char* line :
       {"epics_puts_total{", "epics_puts_total{pv=\"x} 1", "epics_puts_total{pv=\"x\"",
        "epics_puts_total{pv=\"x\"} x", "epics_puts_total{pv=\"x\\"}) {
    EXPECT_EQ(error_of(read_seen_puts(std::string("up 1\n") + line)), "line 2 is no metric")
        << line;
  }
  EXPECT_EQ(read_seen_puts("epics_puts_total{pv=\"x\"} -1").error().message(),
            "a value of epics_puts_total is no count");
  EXPECT_EQ(read_seen_puts("up 1\n").error().message(),
            "there is no series of epics_puts_total: no put was seen");
}

}  // namespace
}  // namespace ioc_exporter::policy
