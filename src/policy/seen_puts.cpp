#include "policy/seen_puts.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

namespace ioc_exporter::policy {
namespace {

constexpr std::string_view kFamily = "epics_puts_total{";

std::optional<int> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

// From a label's value to the name: see label_text.h.
std::string bytes_of(const std::string& value) {
  std::string bytes;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] == '\\' && i + 3 < value.size() && value[i + 1] == 'x') {
      const auto high = hex_digit(value[i + 2]), low = hex_digit(value[i + 3]);
      if (high && low) {
        bytes += static_cast<char>(*high << 4 | *low);
        i += 3;
        continue;
      }
    }
    bytes += value[i];
  }
  return bytes;
}

// name="value",...} at the start of `rest`, which is cut off.
std::optional<std::map<std::string, std::string>> take_labels(std::string_view& rest) {
  std::map<std::string, std::string> labels;
  while (!rest.empty() && rest.front() != '}') {
    const std::size_t equals = rest.find("=\"");
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string name(rest.substr(0, equals));
    rest.remove_prefix(equals + 2);
    std::string value;
    while (!rest.empty() && rest.front() != '"') {
      if (rest.front() == '\\') {
        rest.remove_prefix(1);
        if (rest.empty()) return std::nullopt;
        value += rest.front() == 'n' ? '\n' : rest.front();
      } else {
        value += rest.front();
      }
      rest.remove_prefix(1);
    }
    if (rest.empty()) return std::nullopt;
    rest.remove_prefix(1);
    if (!rest.empty() && rest.front() == ',') rest.remove_prefix(1);
    labels[name] = bytes_of(value);
  }
  if (rest.empty()) return std::nullopt;
  rest.remove_prefix(1);
  return labels;
}

// "23", "1e+06", perhaps with a time stamp behind it.
std::optional<std::uint64_t> take_count(std::string_view rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  rest = rest.substr(0, rest.find(' '));
  double value = 0;
  const auto [after, failed] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (failed != std::errc() || after != rest.data() + rest.size()) return std::nullopt;
  if (!(value >= 0 && value < 1.8e19)) return std::nullopt;
  return static_cast<std::uint64_t>(std::llround(value));
}

// `line`: behind the family's name.
std::optional<SeenPut> read_line(std::string_view line) {
  auto labels = take_labels(line);
  const auto count = take_count(line);
  if (!labels || !count) return std::nullopt;
  SeenPut put{(*labels)["pv"], (*labels)["client"], (*labels)["user"], (*labels)["client_host"]};
  put.op = (*labels)["op"] == "write_notify" ? PutOp::write_notify : PutOp::write;
  put.count = *count;
  return put;
}

}  // namespace

Result<std::vector<SeenPut>> read_seen_puts(std::string_view scrape) {
  std::vector<SeenPut> puts;
  int number = 0;
  for (std::size_t at = 0; at < scrape.size();) {
    const std::size_t end = std::min(scrape.find('\n', at), scrape.size());
    const std::string_view line = scrape.substr(at, end - at);
    at = end + 1;
    ++number;
    if (!line.starts_with(kFamily)) continue;
    auto put = read_line(line.substr(kFamily.size()));
    if (!put)
      return error_in_words("line " + std::to_string(number) +
                            " is no series of text format 0.0.4");
    puts.push_back(std::move(*put));
  }
  if (puts.empty())
    return error_in_words("there is no series of epics_puts_total: no put was seen");
  return puts;
}

}  // namespace ioc_exporter::policy
