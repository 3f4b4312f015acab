// The whole scrape, byte for byte, and what promtool says about it. After a wanted change, run once
// with IOC_EXPORTER_UPDATE_GOLDEN=1 and read the difference.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "sample_snapshot.h"

namespace ioc_exporter::metrics {
namespace {

std::string read_golden() {
  std::ifstream file(IOC_EXPORTER_GOLDEN_SCRAPE);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

TEST(GoldenScrape, IsRenderedByteForByte) {
  const std::string text = render_text(sample_snapshot(), sample_exporter());
  if (std::getenv("IOC_EXPORTER_UPDATE_GOLDEN")) std::ofstream(IOC_EXPORTER_GOLDEN_SCRAPE) << text;
  EXPECT_EQ(text, read_golden());
}

TEST(GoldenScrape, PassesPromtool) {
  if (std::system("command -v promtool >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "no promtool in PATH";
  const std::string command =
      "promtool check metrics < '" + std::string(IOC_EXPORTER_GOLDEN_SCRAPE) + "' 2>&1";
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
}  // namespace ioc_exporter::metrics
