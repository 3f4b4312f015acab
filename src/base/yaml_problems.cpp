#include "base/yaml_problems.h"

#include <algorithm>

namespace ioc_exporter {

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
