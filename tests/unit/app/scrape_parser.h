// Reads text format 0.0.4 for the tests, written apart from the encoder: what it returns has labels
// with their escapes undone.
#pragma once

#include <map>
#include <set>
#include <string>

namespace ioc_exporter::app {

using LabelMap = std::map<std::string, std::string>;

struct ParsedFamily {
  std::string type;
  std::string help;
  std::map<std::pair<std::string, LabelMap>, std::string>
      series;  // sample name, labels: value text

  std::set<std::string> label_names() const {
    std::set<std::string> names;
    for (const auto& [key, value] : series)
      for (const auto& [name, label] : key.second)
        if (name != "le") names.insert(name);
    return names;
  }
};

// Throws on a line that is not in the format, a series that stands twice, or one outside its
// family.
std::map<std::string, ParsedFamily> parse_scrape(const std::string& text);

}  // namespace ioc_exporter::app
