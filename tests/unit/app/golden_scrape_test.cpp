// The whole scrape in each format, byte for byte, and what promtool says about the text. After a
// wanted change, run once with IOC_EXPORTER_UPDATE_GOLDEN=1 and read the difference; what the other
// two say is compared with the text by protobuf_encoder_test.cpp and tests/e2e/test_formats.py.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "exposition/openmetrics_encoder.h"
#include "exposition/protobuf_encoder.h"
#include "exposition/text_encoder.h"
#include "sample_snapshot.h"

namespace ioc_exporter::app {
namespace {

const std::string kGolden = IOC_EXPORTER_GOLDEN_SCRAPE;  // .txt, .openmetrics.txt, .pb

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

template <class Format>
void expect_golden(const std::string& ending, const Snapshot& snapshot = sample_snapshot()) {
  Format encoder;
  records::LabelCache cache;
  encode_snapshot(snapshot, sample_exporter(), {}, cache, encoder);
  const std::string scrape = encoder.take();
  if (std::getenv("IOC_EXPORTER_UPDATE_GOLDEN"))
    std::ofstream(kGolden + ending, std::ios::binary) << scrape;
  EXPECT_TRUE(scrape == read_file(kGolden + ending)) << scrape;
}

TEST(GoldenScrape, IsRenderedByteForByte) {
  expect_golden<exposition::TextEncoder>(".txt");
}

TEST(GoldenScrape, IsRenderedByteForByteInOpenMetrics) {
  expect_golden<exposition::OpenMetricsEncoder>(".openmetrics.txt");
}

TEST(GoldenScrape, IsRenderedByteForByteInProtobuf) {
  expect_golden<exposition::ProtobufEncoder>(".pb");
}

// With --series=site: what tests/monitoring look for families on.
TEST(GoldenScrape, IsRenderedByteForByteForASite) {
  exposition::BoundsOptions options;
  options.set = exposition::SeriesSet::site;
  Snapshot snapshot = sample_snapshot();
  Bounds(options).apply(snapshot);
  expect_golden<exposition::TextEncoder>(".site.txt", snapshot);
}

TEST(GoldenScrape, PassesPromtool) {
  if (std::system("command -v promtool >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "no promtool in PATH";
  const std::string command = "promtool check metrics < '" + kGolden + ".txt' 2>&1";
  FILE* pipe = ::popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string said;
  char chunk[512];
  while (const std::size_t got = std::fread(chunk, 1, sizeof chunk, pipe)) said.append(chunk, got);
  const int status = ::pclose(pipe);
  EXPECT_EQ(said, "");
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace ioc_exporter::app
