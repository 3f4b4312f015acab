#include "putlog/filter.h"

#include <gtest/gtest.h>

#include "events.h"

namespace ioc_exporter::putlog {
namespace {

Pattern pattern(const std::string& text) {
  return *Pattern::compile(text);
}

TEST(PutFilter, WithoutAnythingWantsAll) {
  EXPECT_TRUE(EventFilter().wants(event(1)));
  EXPECT_TRUE(EventFilter().wants(PutEvent()));
}

TEST(PutFilter, EachPatternIsForAWholeName) {
  EventFilter filter;
  filter.pv.include = pattern("SR:.*");
  filter.pv.exclude = pattern(".*:Noise");
  filter.user.include = pattern("ada|bob");
  EXPECT_TRUE(filter.wants(event(1, "SR:I")));
  EXPECT_FALSE(filter.wants(event(1, "SR:Noise")));
  EXPECT_FALSE(filter.wants(event(1, "XSR:I")));
  PutEvent other = event(1);
  other.user = "adam";
  EXPECT_FALSE(filter.wants(other));
}

TEST(PutFilter, AClientIsAnAddressWithOrWithoutItsPort) {
  EventFilter filter;
  filter.client.include = pattern("10\\.0\\.0\\.7|10\\.0\\.0\\.8:1|fe80::1");
  PutEvent one = event(1);
  EXPECT_TRUE(filter.wants(one));
  for (const auto& [client, wanted] : {std::pair{"10.0.0.8:1", true},
                                       {"10.0.0.8:2", false},
                                       {"[fe80::1]:5", true},
                                       {"fe80::1", true}}) {
    one.client = client;
    EXPECT_EQ(filter.wants(one), wanted) << client;
  }
}

TEST(PutFilter, UnexpectedIsWhatThePolicyDoesNotAllow) {
  EventFilter filter;
  filter.unexpected = true;
  PutEvent one = event(1);
  for (const auto& [action, wanted] : {std::pair{"", false},
                                       {"allowed", false},
                                       {"expected", false},
                                       {"unexpected", true},
                                       {"forbidden", true}}) {
    one.action = action;
    EXPECT_EQ(filter.wants(one), wanted) << action;
  }
}

// A client chooses its user's name: with one that RE2 never matches it would not be in the log.
TEST(PutFilter, NobodyEscapesEverythingByHisName) {
  EventFilter filter;
  filter.user.include = pattern(".*");
  PutEvent one = event(1);
  for (const std::string name : {"\xff", "a\nb", "\xe2\x80\xa8", "\r", ""}) {
    one.user = name;
    EXPECT_TRUE(filter.wants(one)) << name;
  }
}

// The server takes all of these for one.
TEST(PutFilter, NobodyEscapesByAnotherSpellingOfAPv) {
  EventFilter one;
  one.pv.include = pattern("SR:Q1");
  EventFilter with_field;
  with_field.pv.include = pattern("SR:Q1\\.VAL");
  for (const char* pv :
       {"SR:Q1", "SR:Q1.VAL", "SR:Q1.VAL$", "SR:Q1.{\"ts\":{}}", "SR:Q1.VAL[0:1]"}) {
    EXPECT_TRUE(one.wants(event(1, pv))) << pv;
    EXPECT_TRUE(with_field.wants(event(1, pv))) << pv;
  }
  EXPECT_FALSE(one.wants(event(1, "SR:Q1.DESC")));
  EventFilter quiet;
  quiet.pv.exclude = pattern(".*:Noise.*");
  EXPECT_FALSE(quiet.wants(event(1, "SR:Noise.VAL$")));
  EXPECT_TRUE(quiet.wants(event(1, "SR:Q1.{\"sync\":{\"m\":\"first\",\"s\":\":Noise\"}}")));
}

// Who fills the exporter's tables has no name: his puts are told all the same.
TEST(PutFilter, APvThatIsNotKnownMayBeAny) {
  EventFilter filter;
  filter.pv.include = pattern("SR:.*");
  EXPECT_TRUE(filter.wants(event(1, "")));
}

}  // namespace
}  // namespace ioc_exporter::putlog
