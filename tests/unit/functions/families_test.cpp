#include "functions/families.h"

#include <gtest/gtest.h>

#include "exposition/text_encoder.h"

namespace ioc_exporter::functions {
namespace {

FunctionSample exchange(const std::string& record, std::uint64_t calls) {
  FunctionSample sample{"ps", "exchange", {{"port", "P1"}, {"record", record}}, calls};
  sample.durations.emplace().sum_ns = calls * 1'000'000'000;
  sample.durations->buckets.back() = calls;
  return sample;
}

std::string encoded(bool by_record) {
  exposition::TextEncoder encoder;
  encode_functions({exchange("A", 3), exchange("B", 4)}, {},
                   exposition::HistogramEdges::of_scans(exposition::EdgeStep::by_4), by_record,
                   encoder);
  return encoder.take();
}

bool has(const std::string& text, const std::string& line) {
  return text.find("\n" + line + "\n") != std::string::npos;
}

TEST(FunctionFamilies, DurationsAreByRecordOrTheirSum) {
  const std::string start =
      "epics_function_duration_seconds_count{ioc=\"ps\",function=\"exchange\",";
  const std::string each = encoded(true), sum = encoded(false);
  EXPECT_TRUE(has(each, start + "port=\"P1\",record=\"A\"} 3")) << each;
  EXPECT_TRUE(has(each, start + "port=\"P1\",record=\"B\"} 4")) << each;
  EXPECT_TRUE(has(sum, start + "port=\"P1\"} 7")) << sum;
  for (const std::string& text : {each, sum})
    EXPECT_TRUE(has(text,
                    "epics_function_calls_total{ioc=\"ps\",function=\"exchange\",port=\"P1\","
                    "record=\"B\"} 4"))
        << text;
}

}  // namespace
}  // namespace ioc_exporter::functions
