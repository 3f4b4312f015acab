#include "putlog/puts_table.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <optional>
#include <utility>

#include "base/command_line.h"
#include "base/json_reader.h"
#include "base/time_text.h"
#include "base/value_text.h"
#include "delivery/query_reader.h"
#include "exposition/json_text.h"

namespace ioc_exporter::putlog {
namespace {

constexpr std::size_t kMostElements = 8;
constexpr const char* kRed = "\x1b[31m";
constexpr const char* kYellow = "\x1b[33m";
constexpr const char* kDim = "\x1b[2m";
constexpr const char* kPlain = "\x1b[0m";

constexpr std::array<const char*, 8> kColumns = {"TIME", "IOC",    "PV",   "OLD",
                                                 "NEW",  "CLIENT", "USER", "RESULT"};

std::string number_text(const Json& number) {
  std::string text;
  exposition::append_json(text, number);
  return text;
}

std::string value_text(const Json& value) {
  if (const auto* const text = value.get_if<std::string>()) return terminal_cell(*text);
  if (value.is_number()) return number_text(value);
  const auto* const elements = value.get_if<Json::Array>();
  if (elements == nullptr) return "-";
  std::string text = "[";
  for (std::size_t i = 0; i < elements->size() && i < kMostElements; ++i) {
    const Json& element = (*elements)[i];
    text += (i == 0 ? "" : " ") +
            (element.get_if<Json::Array>() != nullptr ? "-" : value_text(element));
  }
  return text + (elements->size() > kMostElements ? " ...]" : "]");
}

std::string value_at(const Json& json, const char* key) {
  const Json* const value = json.find(key);
  return value == nullptr ? "-" : value_text(*value);
}

// Of a group: "SR:x.VAL=1 SR:y.VAL=2".
std::string fields_text(const Json::Array& fields, const char* key) {
  std::string text;
  for (std::size_t i = 0; i < fields.size() && i < kMostElements; ++i)
    if (fields[i].get_if<Json::Object>() != nullptr)
      text += (text.empty() ? "" : " ") + terminal_cell(fields[i].text_at("field")) + "=" +
              value_at(fields[i], key);
  return text + (fields.size() > kMostElements ? " ..." : "");
}

std::string value_text(const Json& json, const char* key) {
  const Json* const fields = json.find("fields");
  const auto* const list = fields == nullptr ? nullptr : fields->get_if<Json::Array>();
  return list != nullptr ? fields_text(*list, key) : value_at(json, key);
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
  const Json *const count = json.find("count"), *const value = json.find("value");
  const auto* const elements = value == nullptr ? nullptr : value->get_if<Json::Array>();
  if (count == nullptr || !count->is_number() || elements == nullptr) return "";
  const std::string text = number_text(*count);
  return text == std::to_string(elements->size()) ? "" : " of " + text;
}

std::string result_text(const Json& json) {
  std::string text = json.text_at("status");
  if (const Json* const seconds = json.find("seconds");
      seconds != nullptr && seconds->is_number()) {
    char number[32];
    std::snprintf(number, sizeof number, " %.3g s", seconds->number());
    text += number;
  }
  return terminal_cell(text);
}

struct Row {
  std::vector<std::string> cells;
  bool bad = false, failed = false;
};

std::optional<Row> row_of(const std::string& line, bool days) {
  const auto parsed = Json::parse(line);
  if (!parsed || parsed->get_if<Json::Object>() == nullptr) return std::nullopt;
  const Json& json = *parsed;
  const std::string user = json.text_at("user"), host = json.text_at("client_host");
  const std::string action = json.text_at("action"), rule = json.text_at("rule");
  const std::string status = json.text_at("status");
  Row row;
  row.cells = {local_time_of(json.text_at("time"), days),
               terminal_cell(json.text_at("ioc")),
               terminal_cell(json.text_at("pv")),
               value_text(json, "old"),
               value_text(json, "value") + count_text(json),
               terminal_cell(json.text_at("client")),
               terminal_cell(host.empty() ? user : user + "@" + host),
               result_text(json),
               action.empty() ? "" : terminal_cell(rule.empty() ? action : action + ": " + rule)};
  row.bad = action == "unexpected" || action == "forbidden" || action == "unjudged";
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
    widths_.assign(rows.back().cells.size(), 0);
  }
  for (const std::string& event : events)
    if (auto row = row_of(event, days_)) rows.push_back(std::move(*row));
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.cells.size(); ++i)
      widths_[i] = std::max(widths_[i], std::min<std::size_t>(width_of(row.cells[i]), 40));
  constexpr std::size_t kOldAt = 3;
  std::string text;
  for (const Row& row : rows) {
    const bool is_head = is_first && &row == &rows.front();
    const char* const colour = row.bad ? kRed : row.failed ? kYellow : nullptr;
    if (coloured_ && colour != nullptr) text += colour;
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const bool dim = coloured_ && i == kOldAt && colour == nullptr && !is_head;
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

double seconds_of(const std::string& time) {
  const auto since = delivery::parse_since(time, std::chrono::system_clock::now());
  return since ? std::chrono::duration<double>((*since)->time_since_epoch()).count() : 0;
}

std::optional<std::string> pending_text(const std::string& body, double now, bool* any) {
  std::vector<TableRow> rows = {{"SINCE", "FOR", "IOC", "PV", "CLIENT", "USER"}};
  std::string more;
  const auto read = read_json(body, [&](const Json& answer) {
    for (const Json& ioc : answer.items()) {
      const std::string name = terminal_cell(ioc.text_at("ioc"));
      const Json::Array& oldest = ioc.at("oldest").items();
      for (const Json& put : oldest) {
        const double since = seconds_of(put.text_at("time"));
        const std::string user = put.text_at("user"), host = put.text_at("client_host");
        rows.push_back({local_time(since), span_text(now - since), name,
                        terminal_cell(put.text_at("pv")), terminal_cell(put.text_at("client")),
                        terminal_cell(host.empty() ? user : user + "@" + host)});
      }
      if (const std::uint64_t all = ioc.at("pending").count(); all > oldest.size())
        more += "... and " + std::to_string(all - oldest.size()) + " more of " + name + "\n";
    }
    return true;
  });
  if (!read) return std::nullopt;
  *any = rows.size() > 1;
  return *any ? text_table(rows) + more : std::string("No put with callback waits.\n");
}

}  // namespace ioc_exporter::putlog
