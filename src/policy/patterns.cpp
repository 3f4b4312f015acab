#include "policy/patterns.h"

#include <re2/re2.h>

#include <algorithm>

namespace ioc_exporter::policy {
namespace {

constexpr std::string_view kSpecial = R"(\.^$|()[]{}*+?)";
constexpr std::int64_t kMemory = 64 << 20;  // of one expression, grown as it is used

re2::RE2::Options options() {
  re2::RE2::Options options;
  options.set_encoding(re2::RE2::Options::EncodingLatin1);  // bytes
  options.set_dot_nl(true);
  options.set_log_errors(false);
  options.set_max_mem(kMemory);
  return options;
}

std::shared_ptr<const re2::RE2> compile(const std::string& pattern) {
  return std::make_shared<const re2::RE2>(pattern, options());
}

re2::StringPiece piece(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

Result<void> Patterns::check(const std::string& pattern) {
  const auto expression = compile(pattern);
  if (!expression->ok()) return error_in_words(expression->error());
  return {};
}

Patterns::Patterns(const std::vector<std::string>& patterns) {
  std::vector<std::string> others;
  for (const std::string& pattern : patterns)
    if (pattern.find_first_of(kSpecial) == std::string::npos)
      literals_.insert(pattern);
    else
      others.push_back(pattern);
  if (others.empty()) return;
  // One pass over the name for all of them; but \Q would reach beyond its own expression.
  const bool joinable = std::ranges::none_of(
      others, [](const std::string& pattern) { return pattern.find("\\Q") != std::string::npos; });
  std::string joined;
  for (const std::string& pattern : others)
    joined.append(joined.empty() ? "(?:" : "|(?:").append(pattern).append(")");
  auto all = joinable ? compile(joined) : nullptr;
  if (all && all->ok()) {
    expressions_.push_back(std::move(all));
    return;
  }
  for (const std::string& pattern : others) expressions_.push_back(compile(pattern));
}

bool Patterns::match(std::string_view name) const {
  return literals_.contains(name) ||
         std::ranges::any_of(expressions_, [name](const auto& expression) {
           return re2::RE2::FullMatch(piece(name), *expression);
         });
}

std::string literal_pattern(std::string_view name) {
  // RE2's own QuoteMeta also quotes '-' and ':', which is right, and hard to read.
  constexpr const char* kHex = "0123456789ABCDEF";
  std::string text;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte > 0x7e) {
      text += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
      continue;
    }
    if (kSpecial.find(c) != std::string_view::npos) text += '\\';
    text += c;
  }
  return text;
}

}  // namespace ioc_exporter::policy
