// QueryReader: the parameters of a query for puts or traces, each by its name. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/pattern.h"
#include "base/query.h"
#include "base/result.h"
#include "delivery/ring.h"

namespace ioc_exporter::delivery {

class QueryReader {
 public:
  explicit QueryReader(std::string_view query) : query_(query) {}

  // A parameter that is absent or empty leaves `into` as it is.
  template <class T, class Parse>
  void read(const char* name, T& into, const Parse& parse) {
    const std::string text = query_value(query_, name).value_or("");
    if (text.empty() || !result_) return;
    auto parsed = parse(text);
    if (parsed)
      into = std::move(*parsed);
    else
      result_ = error_in_words(std::string(name) + ": " + parsed.error().message());
  }
  // "", "1" and "true" are yes.
  void read_yes(const char* name, bool& into);
  // The first error, which names its parameter.
  const Result<void>& result() const { return result_; }

 private:
  const std::string_view query_;
  Result<void> result_;
};

// A pattern that takes neither much memory nor long to match.
Result<Pattern> parse_pattern(const std::string& text);
// "10m", which is counted back from `now`, "today" or "yesterday" by local time, seconds since
// 1970, or a time: of RFC 3339, or as commands print it, "09:07:16.123", "11-21 09:07:16",
// "2026-11-21 09:07:16.123 +0100"; local without a zone, and without a year or day the last one
// that is not to come.
Result<Since> parse_since(const std::string& text, std::chrono::system_clock::time_point now);
Result<std::size_t> parse_limit(const std::string& text);

}  // namespace ioc_exporter::delivery
