#include "scrape_parser.h"

#include <sstream>

namespace ioc_exporter::app {
namespace {

// After "name{": fills `labels`, returns the position behind '}'.
std::size_t parse_labels(const std::string& line, std::size_t at, LabelMap& labels) {
  while (line.at(at) != '}') {
    const std::size_t equals = line.find("=\"", at);
    if (equals == std::string::npos) throw std::runtime_error("no label in " + line);
    const std::string name = line.substr(at, equals - at);
    std::string value;
    at = equals + 2;
    for (; line.at(at) != '"'; ++at) {
      if (line[at] == '\\') {
        ++at;
        value += line.at(at) == 'n' ? '\n' : line[at];
      } else {
        value += line[at];
      }
    }
    ++at;
    if (line.at(at) == ',') ++at;
    if (!labels.emplace(name, value).second) throw std::runtime_error("label twice in " + line);
  }
  return at + 1;
}

bool belongs(const std::string& sample, const std::string& family, const std::string& type) {
  if (type != "histogram") return sample == family;
  return sample == family + "_bucket" || sample == family + "_sum" || sample == family + "_count";
}

}  // namespace

std::map<std::string, ParsedFamily> parse_scrape(const std::string& text) {
  std::map<std::string, ParsedFamily> families;
  std::string current, line;
  if (!text.empty() && text.back() != '\n') throw std::runtime_error("last line has no end");
  for (std::istringstream lines(text); std::getline(lines, line);) {
    if (line.starts_with("# HELP ")) {
      const std::size_t end = line.find(' ', 7);
      current = line.substr(7, end - 7);
      if (!families.emplace(current, ParsedFamily{"", line.substr(end + 1), {}}).second)
        throw std::runtime_error("family twice: " + current);
      continue;
    }
    ParsedFamily& family = families.at(current);
    if (line.starts_with("# TYPE ")) {
      const std::string start = "# TYPE " + current + " ";
      if (!line.starts_with(start)) throw std::runtime_error("TYPE of another family: " + line);
      family.type = line.substr(start.size());
      continue;
    }
    std::size_t at = line.find_first_of("{ ");
    const std::string name = line.substr(0, at);
    if (!belongs(name, current, family.type)) throw std::runtime_error("not in family: " + line);
    LabelMap labels;
    if (line.at(at) == '{') at = parse_labels(line, at + 1, labels);
    if (line.at(at) != ' ') throw std::runtime_error("no value in " + line);
    if (!family.series.emplace(std::pair(name, labels), line.substr(at + 1)).second)
      throw std::runtime_error("series twice: " + line);
  }
  return families;
}

}  // namespace ioc_exporter::app
