#include "iocs/find/expected.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "base/utf8.h"
#include "base/yaml_reader.h"

namespace ioc_exporter::iocs {
namespace {

// As a label has it.
bool is_name(const std::string& name) {
  return !name.empty() && printable_utf8(name, name.size()) == name;
}

}  // namespace

Result<std::vector<std::string>> expected_from_text(const std::string& text) {
  std::vector<std::string> names;
  std::size_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    ++number;
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    std::string name(line);
    if (!is_name(name))
      return error_in_words("line " + std::to_string(number) + ": no name of an IOC");
    names.push_back(std::move(name));
  }
  return names;
}

Result<std::vector<std::string>> read_expected(const ExpectedOptions& options) {
  std::vector<std::string> all = options.names;
  for (const std::string& name : all)
    if (!is_name(name)) return error_in_words("iocs.expected: \"" + name + "\" is no name");
  if (!options.file.empty()) {
    auto text = read_text(options.file);
    if (!text) return std::move(text).error();
    auto names = expected_from_text(*text);
    if (!names) return error_in_words(options.file + ": " + names.error().message());
    for (std::string& name : *names)
      if (!options.match || options.match->matches(name)) all.push_back(std::move(name));
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (all.size() > kMostExpected)
    return error_in_words("iocs.expected: " + std::to_string(all.size()) + " names, more than " +
                          std::to_string(kMostExpected));
  return all;
}

}  // namespace ioc_exporter::iocs
