// The example in docs/ is a valid file in which every key stands.
#include <gtest/gtest.h>

#include "app/site_config.h"

namespace ioc_exporter::app {
namespace {

TEST(ConfigExample, IsValid) {
  const auto config = read_config(IOC_EXPORTER_CONFIG_EXAMPLE);
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_TRUE(config->iocs.filter.include && config->iocs.filter.exclude);
  EXPECT_EQ(config->iocs.name_sources.size(), 5u);
  EXPECT_TRUE(config->records.shown.exclude && config->ca.pvs.exclude);
  ASSERT_EQ(config->records.groups.size(), 2u);
  EXPECT_EQ(
      config->records.groups[0].match.rewritten("SR-C01:BPM3:X", config->records.groups[0].group),
      "SR-C01");
  EXPECT_EQ(config->records.groups[1].match.rewritten("SR:Temp12", config->records.groups[1].group),
            "SR:Temp");
  EXPECT_EQ(config->ca.put_expiry, std::chrono::hours(7 * 24));
}

TEST(ConfigExample, SetsEachLimitThatThereIs) {
  Options options;
  const auto each_bound = [&options](auto use) {
    for (const exposition::LimitKind& kind : exposition::kLimitKinds) {
      exposition::SeriesLimit& limit = options.limits.*kind.limit;
      for (std::size_t* bound : {&limit.series, &limit.per_ioc, &limit.per_client})
        if (*bound != exposition::SeriesLimit::kNone) use(*bound, kind.name);
    }
  };
  each_bound([](std::size_t& bound, const char*) { bound = 1; });
  const auto config = read_config(IOC_EXPORTER_CONFIG_EXAMPLE, options);
  ASSERT_TRUE(config) << config.error().message();
  options = *config;
  each_bound([](std::size_t& bound, const char* name) { EXPECT_GT(bound, 1u) << name; });
}

}  // namespace
}  // namespace ioc_exporter::app
