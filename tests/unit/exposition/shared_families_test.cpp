#include "exposition/shared_families.h"

#include <gtest/gtest.h>

#include "exposition/openmetrics_encoder.h"

namespace ioc_exporter::exposition {
namespace {

constexpr Family kCounts{"puts_total", FamilyType::counter, "Puts."};
constexpr Family kTimes{"last_put_seconds", FamilyType::gauge, "When."};

TEST(SharedFamilies, StandOnceOnThePageWithTheSeriesOfAll) {
  OpenMetricsEncoder encoder;
  const auto of = [&encoder](const char* user, double time) {
    return KeptExemplar{encoder.labels({{"user", user}}), 1, time};
  };
  SharedFamilies shared;
  const auto labels = [&encoder](const char* protocol) {
    return encoder.labels({{"protocol", protocol}});
  };
  shared.begin(kCounts);
  shared.add(labels("pva"), {2, 7, of("ann", 9)});
  shared.begin(kTimes);
  shared.add(labels("pva"), 9);
  shared.begin(kCounts);
  shared.add(labels("ca"), {3, 5, of("ann", 8)});
  shared.add(labels("ca"), {20, 6, of("bob", 12)});
  shared.begin(kTimes);
  shared.add(labels("pva"), 4);
  shared.encode(encoder);
  EXPECT_EQ(encoder.take(),
            "# TYPE puts counter\n# HELP puts Puts.\n"
            "puts_total{protocol=\"ca\"} 23 # {user=\"bob\"} 1 12.000000\n"
            "puts_created{protocol=\"ca\"} 5.000000\n"
            "puts_total{protocol=\"pva\"} 2 # {user=\"ann\"} 1 9.000000\n"
            "puts_created{protocol=\"pva\"} 7.000000\n"
            "# TYPE last_put_seconds gauge\n# HELP last_put_seconds When.\n"
            "last_put_seconds{protocol=\"pva\"} 9\n"
            "# EOF\n");
}

}  // namespace
}  // namespace ioc_exporter::exposition
