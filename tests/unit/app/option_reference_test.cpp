// The options in docs/configuration.md are those of the table.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "app/manual.h"
#include "app/options.h"

namespace ioc_exporter::app {
namespace {

const std::string kBegin = "<!-- options: made from the option table, see CONTRIBUTING.md -->\n";
const std::string kEnd = "<!-- end of options -->\n";

TEST(OptionReference, IsInTheDocuments) {
  std::ifstream file(IOC_EXPORTER_CONFIGURATION_DOC);
  const std::string page(std::istreambuf_iterator<char>(file), {});
  const std::size_t begin = page.find(kBegin), end = page.find(kEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  Options options;
  const std::string expected = page.substr(0, begin) + kBegin + "\n" +
                               option_reference(option_table(options)) + "\n" + page.substr(end);
  if (std::getenv("IOC_EXPORTER_REWRITE_DOCS") != nullptr)
    std::ofstream(IOC_EXPORTER_CONFIGURATION_DOC) << expected;
  else
    EXPECT_EQ(page, expected) << "rewrite it: IOC_EXPORTER_REWRITE_DOCS=1 build/tests/unit/app/"
                                 "unit_app --gtest_filter='OptionReference.*'";
}

}  // namespace
}  // namespace ioc_exporter::app
