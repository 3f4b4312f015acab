#include "scrape_parser.h"

#include <regex>
#include <sstream>
#include <stdexcept>

namespace ioc_exporter::app {
namespace {

// Of `label="value",label="value"`.
LabelMap parse_labels(const std::string& text, const std::string& line) {
  static const std::regex label(R"re((\w+)="((?:[^"\\]|\\.)*)")re");
  LabelMap labels;
  for (std::sregex_iterator at(text.begin(), text.end(), label), end; at != end; ++at) {
    std::string value;
    const std::string escaped = (*at)[2].str();
    for (std::size_t i = 0; i < escaped.size(); ++i)
      if (escaped[i] != '\\')
        value += escaped[i];
      else
        value += escaped[++i] == 'n' ? '\n' : escaped[i];
    if (!labels.emplace((*at)[1].str(), value).second)
      throw std::runtime_error("label twice in " + line);
  }
  return labels;
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
    static const std::regex sample(R"re((\w+)(?:\{((?:\w+="(?:[^"\\]|\\.)*",?)*)\})? (\S+))re");
    std::smatch parts;
    if (!std::regex_match(line, parts, sample)) throw std::runtime_error("no sample: " + line);
    if (!belongs(parts[1].str(), current, family.type))
      throw std::runtime_error("not in family: " + line);
    const LabelMap labels = parse_labels(parts[2].str(), line);
    if (!family.series.emplace(std::pair(parts[1].str(), labels), parts[3].str()).second)
      throw std::runtime_error("series twice: " + line);
  }
  return families;
}

}  // namespace ioc_exporter::app
