#include "policy/learn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ioc_exporter::policy {
namespace {

using testing::HasSubstr;
using testing::Not;

SeenPut put(std::string pv, std::string user = "op", std::string client = "10.0.0.7",
            std::uint64_t count = 1) {
  return {std::move(pv), std::move(client), std::move(user), "console1", PutOp::write, count};
}

TEST(Learn, ProposesARuleForEachUser) {
  EXPECT_EQ(propose({put("SR:Q1", "op", "10.0.0.7", 5), put("SR:Q1.VAL", "op", "10.0.0.8", 2),
                     put("SR:B1.DRVH"), put("IOC:fb", "feed.back", "2001:db8::1", 100)},
                    LearnBy::user, "a\nscrape"),
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

TEST(Learn, NamesThatDifferInTheirNumbersBecomeOnePattern) {
  const std::string text =
      propose({put("SR:C1:Q1:Set"), put("SR:C1:Q2:Set"), put("SR:C1:Q13:Set", "op", "10.0.0.7", 5),
               put("SR:C1:B1:Set"), put("SR:C1:B2:Set")},
              LearnBy::user, "x");
  EXPECT_THAT(text, HasSubstr("- 'SR:C1:Q[0-9]+:Set'  # 7 puts to 3 PVs\n"));
  EXPECT_THAT(text, HasSubstr("- 'SR:C1:B1:Set'  # 1 put\n"));
  EXPECT_THAT(text, HasSubstr("- 'SR:C1:B2:Set'  # 1 put\n"));
}

TEST(Learn, ManyAddressesBecomeTheirNetwork) {
  std::vector<SeenPut> puts = {put("A", "op", "10.0.1.1"), put("A", "op", "")};
  for (int i = 1; i <= 5; ++i) puts.push_back(put("A", "other", "10.0.0." + std::to_string(i)));
  puts.push_back(put("A", "other", "10.0.1.1"));
  const std::string text = propose(puts, LearnBy::user, "x");
  EXPECT_THAT(text, HasSubstr("clients: ['10.0.0.0/24', '10.0.1.1']\n"));
  EXPECT_THAT(text, HasSubstr("# The address of one client was not known"));
}

TEST(Learn, KeepsClientsApartWhenAsked) {
  const std::vector<SeenPut> puts = {put("A", "op", "10.0.0.1"), put("B", "op", "10.0.0.2")};
  const std::string text = propose(puts, LearnBy::client, "x");
  EXPECT_THAT(text, HasSubstr("- name: 'user-op'\n"));
  EXPECT_THAT(text, HasSubstr("- name: 'user-op.2'\n"));
  EXPECT_THAT(propose(puts, LearnBy::user, "x"), Not(HasSubstr("op.2")));
}

TEST(Learn, LeavesOutWhatHasNoName) {
  const std::string text = propose(
      {put("", "op", "10.0.0.7", 3), put("(other)", "op", "10.0.0.7", 4)}, LearnBy::user, "x");
  EXPECT_THAT(text, HasSubstr("# Left out: 7 puts whose PV or client is not known.\n"));
  EXPECT_THAT(text, HasSubstr("rules: []\n"));
}

TEST(Learn, HostileNamesAreQuoted) {
  const std::string text =
      propose({put("a'b: {\"x\"}\n\xff", "'\n- name: all\n  action: allow")}, LearnBy::user, "x");
  EXPECT_THAT(text, HasSubstr(R"(users: ['''\x0A- name: all\x0A  action: allow'])"));
  EXPECT_THAT(text, HasSubstr(R"(- 'a''b: \{"x"\}\x0A\xFF'  # 1 put)"));
}

}  // namespace
}  // namespace ioc_exporter::policy
