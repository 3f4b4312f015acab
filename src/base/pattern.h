// Pattern: a regular expression (RE2: linear time, no backtracking) that is to match a whole name.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace ioc_exporter {

// Copies share the compiled expression; matches() may be called by several threads at once.
class Pattern {
 public:
  // The error names the expression and says what RE2 says about it. `memory`: bytes for it
  // and its caches; an expression that needs more is matched more slowly, or refused.
  static Result<Pattern> compile(const std::string& expression,
                                 std::int64_t memory = std::int64_t{8} << 20);

  bool matches(std::string_view name) const;
  // `rewrite` with \1 to \9 replaced by what the groups of the expression captured and \0 by the
  // whole name; nothing when the expression does not match.
  std::optional<std::string> rewritten(std::string_view name, const std::string& rewrite) const;
  // Whether `rewrite` can be used: no group that the expression does not have. The error says so.
  Result<void> check_rewrite(const std::string& rewrite) const;
  int groups() const;
  // Steps of its program: what it may take to match one character where memory is short.
  int size() const;

  const std::string& text() const;

 private:
  explicit Pattern(std::shared_ptr<const re2::RE2> compiled) : compiled_(std::move(compiled)) {}

  std::shared_ptr<const re2::RE2> compiled_;
};

// Names that an include and an exclude expression let through; without them, all. Exclude wins.
struct NameFilter {
  std::optional<Pattern> include, exclude;

  bool wants(std::string_view name) const {
    return (!include || include->matches(name)) && !(exclude && exclude->matches(name));
  }
  bool wants_all() const { return !include && !exclude; }
};

}  // namespace ioc_exporter
