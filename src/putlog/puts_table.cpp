#include "putlog/puts_table.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/command_line.h"
#include "base/time_text.h"
#include "base/value_text.h"

namespace ioc_exporter::putlog {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostElements = 8;
constexpr const char* kRed = "\x1b[31m";
constexpr const char* kYellow = "\x1b[33m";
constexpr const char* kDim = "\x1b[2m";
constexpr const char* kPlain = "\x1b[0m";

constexpr std::array<const char*, 9> kColumns = {"TIME",   "IOC",     "PV",   "OLD",   "NEW",
                                                 "CLIENT", "PROCESS", "USER", "RESULT"};

std::string text_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string value_text(const Json& value) {
  if (value.is_string()) return terminal_cell(value.get<std::string>());
  if (value.is_number()) return value.dump();
  if (!value.is_array()) return "-";
  std::string text = "[";
  for (std::size_t i = 0; i < value.size() && i < kMostElements; ++i)
    text += (i == 0 ? "" : " ") + (value[i].is_array() ? "-" : value_text(value[i]));
  return text + (value.size() > kMostElements ? " ...]" : "]");
}

// Of a group: "SR:x.VAL=1 SR:y.VAL=2".
std::string fields_text(const Json& fields, const char* key) {
  std::string text;
  for (std::size_t i = 0; i < fields.size() && i < kMostElements; ++i) {
    if (!fields[i].is_object()) continue;
    const auto value = fields[i].find(key);
    text += (text.empty() ? "" : " ") + terminal_cell(text_at(fields[i], "field")) + "=" +
            (value == fields[i].end() ? "-" : value_text(*value));
  }
  return text + (fields.size() > kMostElements ? " ..." : "");
}

std::string value_text(const Json& json, const char* key) {
  if (const auto fields = json.find("fields"); fields != json.end() && fields->is_array())
    return fields_text(*fields, key);
  const auto found = json.find(key);
  return found == json.end() ? "-" : value_text(*found);
}

// "2026-11-22T23:35:05.123456789Z" in local time: "00:35:05.123", "11-23 00:35:05.123".
std::string local_time_of(const std::string& time, bool day) {
  std::tm utc{};
  const char* const end = ::strptime(time.c_str(), "%Y-%m-%dT%H:%M:%S", &utc);
  if (end == nullptr) return "-";
  const std::time_t seconds = ::timegm(&utc);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  char text[16];
  std::strftime(text, sizeof text, day ? "%m-%d %H:%M:%S" : "%H:%M:%S", &local);
  return terminal_cell(text + std::string(end).substr(0, 4));
}

std::string count_text(const Json& json) {
  const auto count = json.find("count");
  const auto value = json.find("value");
  if (count == json.end() || value == json.end() || !value->is_array()) return "";
  return count->is_number() && *count != value->size() ? " of " + count->dump() : "";
}

std::string result_text(const Json& json) {
  std::string text = text_at(json, "status");
  if (const auto seconds = json.find("seconds"); seconds != json.end() && seconds->is_number()) {
    char number[32];
    std::snprintf(number, sizeof number, " %.3g s", seconds->get<double>());
    text += number;
  }
  return terminal_cell(text);
}

struct Row {
  std::vector<std::string> cells;
  bool bad = false, failed = false;
};

std::optional<Row> row_of(const std::string& line, bool days, bool exporters) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const std::string user = text_at(json, "user"), host = text_at(json, "client_host");
  const std::string action = text_at(json, "action"), rule = text_at(json, "rule");
  const std::string status = text_at(json, "status");
  Row row;
  row.cells = {local_time_of(text_at(json, "time"), days),
               terminal_cell(text_at(json, "ioc")),
               terminal_cell(text_at(json, "pv")),
               value_text(json, "old"),
               value_text(json, "value") + count_text(json),
               terminal_cell(text_at(json, "client")),
               terminal_cell(text_at(json, "client_process")),
               terminal_cell(host.empty() ? user : user + "@" + host),
               result_text(json),
               action.empty() ? "" : terminal_cell(rule.empty() ? action : action + ": " + rule)};
  if (exporters) row.cells.insert(row.cells.begin() + 1, terminal_cell(text_at(json, "exporter")));
  row.bad = action == "unexpected" || action == "forbidden";
  row.failed = !status.empty() && status != "ok";
  return row;
}

// Characters, as good as it goes without their widths.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

std::string json_lines(const std::vector<std::string>& events) {
  std::string text;
  for (const std::string& event : events) text += terminal_cell(event) + "\n";
  return text;
}

std::string PutsTable::lines(const std::vector<std::string>& events) {
  std::vector<Row> rows;
  const bool is_first = widths_.empty();
  if (is_first) {
    rows.push_back({{kColumns.begin(), kColumns.end()}});
    rows.back().cells.emplace_back("POLICY");
    if (exporters_) rows.back().cells.insert(rows.back().cells.begin() + 1, "EXPORTER");
    widths_.assign(rows.back().cells.size(), 0);
  }
  for (const std::string& event : events)
    if (auto row = row_of(event, days_, exporters_)) rows.push_back(std::move(*row));
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.cells.size(); ++i)
      widths_[i] = std::max(widths_[i], std::min<std::size_t>(width_of(row.cells[i]), 40));
  const std::size_t old_at = exporters_ ? 4 : 3;
  std::string text;
  for (const Row& row : rows) {
    const bool is_head = is_first && &row == &rows.front();
    const char* const colour = row.bad ? kRed : row.failed ? kYellow : nullptr;
    if (coloured_ && colour != nullptr) text += colour;
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const bool dim = coloured_ && i == old_at && colour == nullptr && !is_head;
      text += (dim ? kDim : "") + row.cells[i] + (dim ? kPlain : "");
      if (i + 1 == row.cells.size()) break;
      const std::size_t width = width_of(row.cells[i]);
      text.append(2 + (width < widths_[i] ? widths_[i] - width : 0), ' ');
    }
    if (coloured_ && colour != nullptr) text += kPlain;
    while (text.ends_with(' ')) text.pop_back();
    text += '\n';
  }
  return text;
}

std::optional<std::string> pending_text(const std::string& body, double now, bool* any) {
  const Json answer = Json::parse(body, nullptr, false);
  if (!answer.is_array()) return std::nullopt;
  std::vector<TableRow> rows = {{"SINCE", "FOR", "IOC", "PV", "CLIENT", "USER"}};
  std::string more;
  for (const Json& ioc : answer) {
    const auto oldest = ioc.find("oldest"), count = ioc.find("pending");
    if (oldest == ioc.end() || !oldest->is_array() || count == ioc.end() ||
        !count->is_number_unsigned())
      return std::nullopt;
    const std::string name = terminal_cell(text_at(ioc, "ioc"));
    for (const Json& put : *oldest) {
      const auto since = put.find("since_seconds");
      if (since == put.end() || !since->is_number()) return std::nullopt;
      const std::string user = text_at(put, "user"), host = text_at(put, "client_host");
      rows.push_back({local_time(since->get<double>()), span_text(now - since->get<double>()), name,
                      terminal_cell(text_at(put, "pv")), terminal_cell(text_at(put, "client")),
                      terminal_cell(host.empty() ? user : user + "@" + host)});
    }
    if (const auto all = count->get<std::uint64_t>(); all > oldest->size())
      more += "... and " + std::to_string(all - oldest->size()) + " more of " + name + "\n";
  }
  *any = rows.size() > 1;
  return *any ? text_table(rows) + more : std::string("No put with callback waits.\n");
}

}  // namespace ioc_exporter::putlog
