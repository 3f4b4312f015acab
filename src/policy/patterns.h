// Patterns: a list of regular expressions (RE2) of which one has to match a whole name.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace ioc_exporter::policy {

// Names are bytes: '.' matches each of them, a newline too. A name without special characters
// stands for itself and costs one look into a table, so a list may hold thousands of them.
class Patterns {
 public:
  // Matches nothing.
  Patterns() = default;

  // Problem of one expression, without its text.
  static Result<void> check(const std::string& pattern);
  // All must have been check()ed.
  explicit Patterns(const std::vector<std::string>& patterns);

  bool match(std::string_view name) const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };

  std::unordered_set<std::string, Hash, std::equal_to<>> literals_;
  std::vector<std::shared_ptr<const re2::RE2>> expressions_;
};

// `name` as a pattern that matches it alone, in printable ASCII.
std::string literal_pattern(std::string_view name);

}  // namespace ioc_exporter::policy
