// docs/metrics.md and the encoder name the same families, with the same types and labels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "sample_snapshot.h"
#include "scrape_parser.h"

namespace ioc_exporter::app {
namespace {

struct Row {
  std::string type;
  std::set<std::string> labels;

  bool operator==(const Row&) const = default;
  friend void PrintTo(const Row& row, std::ostream* out) {
    *out << row.type << " " << testing::PrintToString(row.labels);
  }
};
using Reference = std::map<std::string, Row>;

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> found;
  for (std::size_t at = 1; at < line.size();) {
    const std::size_t end = std::min(line.find('|', at), line.size());
    std::string cell = line.substr(at, end - at);
    cell.erase(0, cell.find_first_not_of(' '));
    cell.erase(cell.find_last_not_of(' ') + 1);
    found.push_back(cell);
    at = end + 1;
  }
  return found;
}

// What stands between the backquotes.
std::set<std::string> quoted(const std::string& cell) {
  std::set<std::string> names;
  std::size_t at = 0;
  while ((at = cell.find('`', at)) != std::string::npos) {
    const std::size_t end = cell.find('`', at + 1);
    if (end == std::string::npos) break;
    names.insert(cell.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return names;
}

// Rows "| `name` | type | labels | ..." of all tables.
Reference read_reference() {
  Reference reference;
  std::string line;
  for (std::ifstream file(IOC_EXPORTER_METRIC_REFERENCE); std::getline(file, line);) {
    if (!line.starts_with("| `")) continue;
    const auto row = cells(line);
    const auto names = row.size() == 4 ? quoted(row[0]) : std::set<std::string>();
    EXPECT_EQ(names.size(), 1u) << line;
    if (names.size() != 1) continue;
    EXPECT_TRUE(reference.emplace(*names.begin(), Row{row[1], quoted(row[2])}).second) << line;
    EXPECT_NE(row[3], "") << line;
  }
  return reference;
}

TEST(Reference, NamesWhatIsServed) {
  Reference served;
  for (const auto& [name, family] : parse_scrape(render_text(sample_snapshot(), sample_exporter())))
    served[name] = {family.type, family.label_names()};
  EXPECT_EQ(read_reference(), served);
}

// Those are for the operator of the exporter; one more takes the place of another.
TEST(Reference, FamiliesAboutTheExporterAreAtMost35) {
  const auto is_its_own = [](const auto& row) { return row.first.starts_with("ioc_exporter_"); };
  EXPECT_LE(std::ranges::count_if(read_reference(), is_its_own), 35);
}

}  // namespace
}  // namespace ioc_exporter::app
