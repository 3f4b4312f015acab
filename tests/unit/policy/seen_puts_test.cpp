#include "policy/learn.h"

#include <gtest/gtest.h>

namespace ioc_exporter::policy {
namespace {

TEST(SeenPuts, ReadsTheirSeries) {
  const auto puts = read_seen_puts(
      "# HELP epics_puts_total Writes.\n"
      "# TYPE epics_puts_total counter\n"
      "epics_puts_total{ioc=\"a\",protocol=\"ca\",pv=\"SR:Q1\",client=\"10.0.0.7\",user=\"op\","
      "client_host="
      "\"c1\","
      "op=\"write_notify\"} 23\n"
      "epics_puts_total{ioc=\"a\",protocol=\"ca\",pv=\"q\\\"}\\\\\\n\\\\xFF\\\\x5Cx\",client=\"\","
      "user=\"\","
      "client_host=\"\",op=\"write\"} 1e+06 1790000000000\n"
      "epics_puts_created{ioc=\"a\"} 1\n"
      "epics_puts_total{ioc=\"a\",protocol=\"pva\",pv=\"SR:Q2\",client=\"10.0.0.8\",user=\"op\","
      "client_host="
      "\"c2\",op=\"put\"} 5\n"
      "epics_put_failures_total{pv=\"x\"} 2\n"
      "other{pv=\"x\"} 7");
  ASSERT_TRUE(puts) << puts.error().message();
  ASSERT_EQ(puts->size(), 3u);
  EXPECT_EQ((*puts)[0].pv, "SR:Q1");
  EXPECT_EQ((*puts)[0].client, "10.0.0.7");
  EXPECT_EQ((*puts)[0].user, "op");
  EXPECT_EQ((*puts)[0].host, "c1");
  EXPECT_EQ((*puts)[0].op, PutOp::write_notify);
  EXPECT_EQ((*puts)[0].count, 23u);
  EXPECT_EQ((*puts)[1].pv, "q\"}\\\n\xff\\x");
  EXPECT_EQ((*puts)[1].op, PutOp::write);
  EXPECT_EQ((*puts)[1].count, 1'000'000u);
  EXPECT_EQ((*puts)[2].pv, "SR:Q2") << "by PV Access";
  EXPECT_EQ((*puts)[2].op, PutOp::write);
  EXPECT_EQ((*puts)[2].count, 5u);
}

TEST(SeenPuts, SaysWhatItCannotRead) {
  for (const char* line :
       {"epics_puts_total{", "epics_puts_total{pv=\"x} 1", "epics_puts_total{pv=\"x\"",
        "epics_puts_total{pv=\"x\"} x", "epics_puts_total{pv=\"x\\"}) {
    const auto puts = read_seen_puts(std::string("up 1\n") + line);
    ASSERT_FALSE(puts) << line;
    EXPECT_EQ(puts.error().message(), "line 2 is no metric");
  }
  EXPECT_EQ(read_seen_puts("epics_puts_total{pv=\"x\"} -1").error().message(),
            "a value of epics_puts_total is no count");
  EXPECT_EQ(read_seen_puts("up 1\n").error().message(),
            "there is no series of epics_puts_total: no put was seen");
}

}  // namespace
}  // namespace ioc_exporter::policy
