#include "base/metric_lines.h"

#include <algorithm>

#include <absl/strings/numbers.h>
#include <re2/re2.h>

namespace ioc_exporter {
namespace {

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == ':';
}

// Text between quotes, without its escapes.
std::string unescaped(std::string_view text) {
  std::string value;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\';
    if (escape) ++i;
    value += escape && text[i] == 'n' ? '\n' : text[i];
  }
  return value;
}

bool take_labels(re2::StringPiece& text, MetricLine& series) {
  static const re2::RE2 label(R"re([ \t]*([a-zA-Z0-9_:]+)="((?:[^"\\]|\\.)*)"(,|\}))re",
                              re2::RE2::Latin1);
  static const re2::RE2 begin(R"(\{)"), end(R"(\})");
  if (!re2::RE2::Consume(&text, begin)) return true;
  std::string name, between = ",";
  re2::StringPiece value;
  while (between == ",") {
    if (re2::RE2::Consume(&text, end)) return true;
    if (!re2::RE2::Consume(&text, label, &name, &value, &between)) return false;
    series.labels.emplace_back(name, unescaped({value.data(), value.size()}));
  }
  return true;
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
  const auto end = static_cast<std::size_t>(std::ranges::find_if_not(line, is_name) - line.begin());
  if (end == 0 || line.find_first_of("{ \t", end) != end) return false;
  any_ = true;
  if (!wanted_.contains(line.substr(0, end))) return true;
  MetricLine series;
  series.name = line.substr(0, end);
  re2::StringPiece text(line.data() + end, line.size() - end);
  static const re2::RE2 number(R"([ \t]*([^ \t]+)(?:[ \t].*)?)");  // what may follow is a time
  std::string value;
  if (!take_labels(text, series) || !re2::RE2::FullMatch(text, number, &value) ||
      !absl::SimpleAtod(value, &series.value))
    return false;
  take_(series);
  return true;
}

bool MetricLines::read(std::string_view piece) {
  if (!problem_.empty()) return false;
  while (true) {
    const std::size_t end = piece.find('\n');
    if (end == std::string_view::npos) break;
    bool good = false;
    if (partial_.empty()) {
      good = read_line(piece.substr(0, end));
    } else {
      partial_ += piece.substr(0, end);
      good = read_line(partial_);
      partial_.clear();
    }
    if (!good) problem_ = "line " + std::to_string(number_) + " is no metric";
    if (!good) return false;
    piece.remove_prefix(end + 1);
  }
  partial_ += piece;
  if (partial_.size() > kLongestLine) problem_ = "a line is longer than 1 MiB";
  return problem_.empty();
}

std::string MetricLines::problem() const {
  if (!problem_.empty()) return problem_;
  if (!partial_.empty()) return "a line is cut";
  return any_ ? "" : "there are no metrics";
}

}  // namespace ioc_exporter
