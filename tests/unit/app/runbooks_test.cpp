// Alerts link to /runbooks/NAME of an exporter.
#include "app/pages.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace ioc_exporter::app {
namespace {

TEST(Runbooks, AreThoseOfTheDocuments) {
  std::map<std::string, std::string> documented, served;
  const auto folder = std::filesystem::path(IOC_EXPORTER_DROPS).parent_path() / "runbooks";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    std::ostringstream text;
    text << std::ifstream(file.path()).rdbuf();
    documented[file.path().stem()] = text.str();
  }
  for (const Runbook& page : runbooks()) served[std::string(page.name)] = page.text;
  EXPECT_GT(documented.size(), 30u);
  EXPECT_EQ(served, documented);
}

}  // namespace
}  // namespace ioc_exporter::app
