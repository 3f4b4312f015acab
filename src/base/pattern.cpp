#include "base/pattern.h"

#include <re2/re2.h>

#include <array>
#include <utility>

#include "base/value_text.h"

namespace ioc_exporter {
namespace {

constexpr int kMostGroups = 10;  // \0 to \9

re2::StringPiece piece(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

Result<Pattern> Pattern::compile(const std::string& expression, std::int64_t memory) {
  // Names are bytes that nobody checked: as UTF-8, an expression never matches one that is not.
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_max_mem(memory);
  auto compiled = std::make_shared<const re2::RE2>(expression, options);
  if (!compiled->ok())
    return error_in_words("regular expression " + shown(expression) + ": " + compiled->error());
  return Pattern(std::move(compiled));
}

bool Pattern::matches(std::string_view name) const {
  return re2::RE2::FullMatch(piece(name), *compiled_);
}

std::optional<std::string> Pattern::rewritten(std::string_view name,
                                              const std::string& rewrite) const {
  std::array<re2::StringPiece, kMostGroups> captured;
  const int wanted = 1 + re2::RE2::MaxSubmatch(rewrite);
  if (!compiled_->Match(piece(name), 0, name.size(), re2::RE2::ANCHOR_BOTH, captured.data(),
                        wanted))
    return std::nullopt;
  std::string result;
  if (!compiled_->Rewrite(&result, rewrite, captured.data(), wanted)) return std::nullopt;
  return result;
}

Result<void> Pattern::check_rewrite(const std::string& rewrite) const {
  std::string problem;
  if (compiled_->CheckRewriteString(rewrite, &problem)) return {};
  return error_in_words(problem);
}

int Pattern::groups() const {
  return compiled_->NumberOfCapturingGroups();
}

int Pattern::size() const {
  return compiled_->ProgramSize();
}

const std::string& Pattern::text() const {
  return compiled_->pattern();
}

}  // namespace ioc_exporter
