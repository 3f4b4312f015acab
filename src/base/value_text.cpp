#include "base/value_text.h"

#include <charconv>
#include <sstream>

namespace ioc_exporter {
namespace {

template <class Number, class Bound>
Result<Number> parse_between(const std::string& text, Bound least, Bound most, const char* what) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [after, failed] = std::from_chars(text.data(), end, number);
  if (failed == std::errc() && after == end && number >= least && number <= most) return number;
  std::ostringstream problem;
  problem << shown(text) << " is no " << what << " from " << least << " to " << most;
  return error_in_words(problem.str());
}

}  // namespace

std::string shown(const std::string& text) {
  constexpr std::size_t kShown = 60;
  std::string cut = text.substr(0, kShown);
  for (char& c : cut)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  return '"' + cut + (text.size() > kShown ? "...\"" : "\"");
}

Result<std::uint64_t> parse_whole_number(const std::string& text, std::uint64_t least,
                                         std::uint64_t most) {
  return parse_between<std::uint64_t>(text, least, most, "whole number");
}

Result<double> parse_number(const std::string& text, double least, double most) {
  return parse_between<double>(text, least, most, "number");
}

}  // namespace ioc_exporter
