#include "base/value_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <sstream>
#include <string_view>
#include <utility>

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

constexpr std::array<std::pair<const char*, int>, 4> kUnits = {
    {{"GiB", 30}, {"MiB", 20}, {"KiB", 10}, {"", 0}}};

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

Result<std::uint64_t> parse_bytes(const std::string& text) {
  std::uint64_t number = 0;
  const auto [after, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(after, text.data() + text.size());
  for (const auto& [name, shift] : kUnits)
    if (failed == std::errc() && unit == name && number <= UINT64_MAX >> shift)
      return number << shift;
  return error_in_words(shown(text) + " is no size such as 512MiB");
}

std::string bytes_text(std::uint64_t bytes) {
  for (const auto& [name, shift] : kUnits)
    if (bytes > 0 && bytes % (std::uint64_t{1} << shift) == 0)
      return std::to_string(bytes >> shift) + name;
  return "0";
}

Result<double> parse_number(const std::string& text, double least, double most) {
  return parse_between<double>(text, least, most, "number");
}

namespace {

// Characters: bytes that do not continue one (RFC 3629).
std::size_t width(const std::string& cell) {
  return static_cast<std::size_t>(std::count_if(cell.begin(), cell.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

std::string text_table(const std::vector<TableRow>& rows) {
  std::vector<std::size_t> widths;
  for (const TableRow& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (widths.size() <= i) widths.push_back(0);
      widths[i] = std::max(widths[i], width(row[i]));
    }
  std::string text;
  for (const TableRow& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - width(row[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace ioc_exporter
