#include "iocs/ioc_filter.h"

#include <re2/re2.h>

namespace ioc_exporter::iocs {
namespace {

Result<std::shared_ptr<const re2::RE2>> compile(const char* option, const std::string& expression) {
  if (expression.empty()) return std::shared_ptr<const re2::RE2>();
  auto compiled = std::make_shared<const re2::RE2>(expression, re2::RE2::Quiet);
  if (!compiled->ok())
    return error_in_words(std::string("read the regular expression '") + expression + "' of " +
                          option + ": " + compiled->error());
  return std::shared_ptr<const re2::RE2>(std::move(compiled));
}

}  // namespace

Result<IocFilter> IocFilter::create(const std::string& include, const std::string& exclude) {
  IocFilter filter;
  auto included = compile("--ioc.include", include);
  if (!included) return std::move(included).error();
  auto excluded = compile("--ioc.exclude", exclude);
  if (!excluded) return std::move(excluded).error();
  filter.include_ = std::move(*included);
  filter.exclude_ = std::move(*excluded);
  return filter;
}

bool IocFilter::wants(std::string_view name) const {
  const re2::StringPiece text(name.data(), name.size());
  if (exclude_ != nullptr && re2::RE2::FullMatch(text, *exclude_)) return false;
  return include_ == nullptr || re2::RE2::FullMatch(text, *include_);
}

}  // namespace ioc_exporter::iocs
