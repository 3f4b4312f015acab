#include "base/metric_lines.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

namespace ioc_exporter {
namespace {

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == ':';
}

std::string_view take_name(std::string_view& text) {
  const auto end = std::ranges::find_if_not(text, is_name);
  const std::string_view name = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(name.size());
  return name;
}

void skip_blanks(std::string_view& text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

// Text between quotes, without its escapes.
std::optional<std::string> take_quoted(std::string_view& text) {
  if (!take(text, '"')) return std::nullopt;
  std::string value;
  while (!text.empty() && text.front() != '"') {
    char c = text.front();
    text.remove_prefix(1);
    if (c == '\\') {
      if (text.empty()) return std::nullopt;
      c = text.front() == 'n' ? '\n' : text.front();
      text.remove_prefix(1);
    }
    value += c;
  }
  if (!take(text, '"')) return std::nullopt;
  return value;
}

bool take_labels(std::string_view& text, std::vector<std::pair<std::string, std::string>>& labels) {
  if (!take(text, '{')) return true;
  while (!take(text, '}')) {
    skip_blanks(text);
    const std::string_view name = take_name(text);
    if (name.empty() || !take(text, '=')) return false;
    auto value = take_quoted(text);
    if (!value) return false;
    labels.emplace_back(name, std::move(*value));
    if (!take(text, ',') && !text.starts_with('}')) return false;
  }
  return true;
}

// Up to a blank: what may follow is a time.
std::optional<double> take_number(std::string_view text) {
  text = text.substr(0, text.find_first_of(" \t"));
  if (text == "+Inf") return std::numeric_limits<double>::infinity();
  if (text == "-Inf") return -std::numeric_limits<double>::infinity();
  if (text == "NaN") return std::nan("");
  double number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size() || text.empty())
    return std::nullopt;
  return number;
}

}  // namespace

const std::string& MetricLine::label(std::string_view wanted) const {
  static const std::string kNone;
  const auto found =
      std::ranges::find_if(labels, [wanted](const auto& one) { return one.first == wanted; });
  return found == labels.end() ? kNone : found->second;
}

bool MetricLines::read_line(std::string_view line) {
  ++number_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty() || line.starts_with('#')) return true;
  std::string_view text = line;
  const std::string_view name = take_name(text);
  if (name.empty() || text.find_first_of("{ \t") != 0) return false;
  any_ = true;
  if (!wanted_.contains(name)) return true;
  MetricLine series;
  series.name = name;
  if (!take_labels(text, series.labels)) return false;
  skip_blanks(text);
  const auto value = take_number(text);
  if (!value) return false;
  series.value = *value;
  take_(series);
  return true;
}

bool MetricLines::read(std::string_view piece) {
  if (!problem_.empty()) return false;
  while (true) {
    const std::size_t end = piece.find('\n');
    if (end == std::string_view::npos) break;
    bool good = false;
    if (rest_.empty()) {
      good = read_line(piece.substr(0, end));
    } else {
      rest_ += piece.substr(0, end);
      good = read_line(rest_);
      rest_.clear();
    }
    if (!good) problem_ = "line " + std::to_string(number_) + " is no metric";
    if (!good) return false;
    piece.remove_prefix(end + 1);
  }
  rest_ += piece;
  if (rest_.size() > kLongestLine) problem_ = "a line is longer than 1 MiB";
  return problem_.empty();
}

std::string MetricLines::problem() const {
  if (!problem_.empty()) return problem_;
  if (!rest_.empty()) return "a line is cut";
  return any_ ? "" : "there are no metrics";
}

}  // namespace ioc_exporter
