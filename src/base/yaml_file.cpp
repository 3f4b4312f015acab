#include "base/yaml_file.h"

#include <algorithm>

#include <yaml-cpp/depthguard.h>

#include "base/rooted_fs.h"

namespace ioc_exporter {
namespace {

constexpr std::size_t kLargest = 4u << 20;

}  // namespace

Result<std::string> read_text(const std::string& path) {
  auto text = RootedFs().read_regular(path, kLargest + 1);
  if (!text && !text.error().code) return std::move(text).error();
  if (!text) return error_in_words("read " + path + ": " + text.error().code.message());
  if (text->size() > kLargest) return error_in_words("read " + path + ": larger than 4 MiB");
  return text;
}

YAML::Node parse_yaml(const std::string& text, Problems& problems) {
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() > 1) {
      const YAML::Mark mark = documents[1].Mark();
      problems.add({mark.line + 1, mark.column + 1}, "a second document begins: there must be one");
    }
    return documents.empty() ? YAML::Node() : documents[0];
  } catch (const YAML::DeepRecursion& problem) {
    // Its mark is where the reading was, which looks ahead: somewhere behind the place.
    problems.add({}, "no valid YAML: nested in more than " + std::to_string(problem.depth()) +
                         " levels, before line " + std::to_string(problem.mark.line + 2));
  } catch (const YAML::Exception& problem) {
    Place place;
    if (!problem.mark.is_null()) place = {problem.mark.line + 1, problem.mark.column + 1};
    problems.add(place, "no valid YAML: " + problem.msg);
  }
  return YAML::Node();
}

Error Problems::error() const {
  std::vector<Problem> sorted = all_;
  std::ranges::stable_sort(sorted, {}, &Problem::place);
  std::string text;
  for (const Problem& problem : sorted) {
    text.append(text.empty() ? "" : "\n").append(file_);
    if (problem.place.line > 0)
      text.append(":")
          .append(std::to_string(problem.place.line))
          .append(":")
          .append(std::to_string(problem.place.column));
    text.append(": ").append(problem.what);
  }
  return error_in_words(std::move(text));
}

}  // namespace ioc_exporter
