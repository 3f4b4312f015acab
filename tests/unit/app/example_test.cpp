// The example in docs/ is a valid file in which every key stands.
#include <gtest/gtest.h>

#include "app/config.h"

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
  for (std::size_t i = 0; i < exposition::kLimitKindCount; ++i) {
    EXPECT_TRUE(config->limits[i].series) << exposition::kLimitKinds[i].name;
    EXPECT_EQ(config->limits[i].per_ioc.has_value(), exposition::kLimitKinds[i].ioc)
        << exposition::kLimitKinds[i].name;
    EXPECT_EQ(config->limits[i].per_client.has_value(), exposition::kLimitKinds[i].client)
        << exposition::kLimitKinds[i].name;
  }
}

}  // namespace
}  // namespace ioc_exporter::app
