// The whole scrape as text, byte for byte, and what promtool says about it. After a wanted change,
// run once with IOC_EXPORTER_UPDATE_GOLDEN=1 and read the difference. What the other formats say is
// compared with the text by protobuf_encoder_test.cpp and tests/e2e/test_formats.py.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "sample_snapshot.h"

namespace ioc_exporter::app {
namespace {

const std::string kGolden = IOC_EXPORTER_GOLDEN_SCRAPE;

TEST(GoldenScrape, IsRenderedByteForByte) {
  const std::string scrape = render_text(sample_snapshot(), sample_exporter());
  if (std::getenv("IOC_EXPORTER_UPDATE_GOLDEN")) std::ofstream(kGolden) << scrape;
  std::stringstream golden;
  golden << std::ifstream(kGolden).rdbuf();
  const std::string before = golden.str();
  const auto at =
      static_cast<std::size_t>(std::ranges::mismatch(scrape, before).in1 - scrape.begin());
  const auto line = [&](const std::string& text) {
    const std::size_t begin = text.rfind('\n', at ? at - 1 : 0) + 1;
    return text.substr(begin, text.find('\n', at) - begin);
  };
  EXPECT_TRUE(scrape == before) << "it is now:  " << line(scrape)
                                << "\nit was:     " << line(before)
                                << "\nif that is wanted: IOC_EXPORTER_UPDATE_GOLDEN=1";
}

TEST(GoldenScrape, PassesPromtool) {
  if (std::system("command -v promtool >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "no promtool in PATH";
  const std::string command = "promtool check metrics < '" + kGolden + "' 2>&1";
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
