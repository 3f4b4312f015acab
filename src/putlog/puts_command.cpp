#include "putlog/puts_command.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/command_line.h"
#include "base/pattern.h"
#include "base/query.h"
#include "base/utf8.h"
#include "putlog/put_query.h"

namespace ioc_exporter::putlog {
namespace {

using Json = nlohmann::json;

constexpr int kFailed = 1, kUsage = 2, kNone = 3;
constexpr std::size_t kMostElements = 8, kLongestLine = 16u << 20;
constexpr const char* kRed = "\x1b[31m";
constexpr const char* kYellow = "\x1b[33m";
constexpr const char* kDim = "\x1b[2m";
constexpr const char* kPlain = "\x1b[0m";

constexpr const char* kHelp = R"help(NAME
  ioc_exporter puts - shows each put to the IOCs of a host: PV, old and new value, client

SYNOPSIS
  ioc_exporter puts [--pv=REGEX] [--client=REGEX] [--user=REGEX] [--ioc=REGEX] [--unexpected]
                    [--since=TIME [--follow]] [--json] [--url=URL]

DESCRIPTION
  Follows the ioc_exporter on the IOC's host, which runs with --collector.putlog, and prints a line
  for each new put, until Ctrl-C:

    TIME     local time; with --since, its day too
    IOC PV   the IOC, and the PV by the client's name for it
    OLD NEW  the value before, where it is known, and the new one
    CLIENT   the address and port of the client
    USER     user@host, as the client says
    RESULT   ok or the failure; for puts with callback also the duration
    POLICY   verdict of the site's policy, and its rule

  "-" stands for an unknown value. In a pipe, or with --json, each put is one line of JSON
  (docs/putlog.md has the keys). Any user may ask.

OPTIONS
  --pv, --client, --user, --ioc
               regular expressions for the whole name; a client by its address or address:port
  --unexpected only puts that the policy does not allow
  --since=TIME print the puts since then from the exporter's memory and store (--putlog.store), and
               end: "10m", "1h30m", "today", "yesterday", or seconds since 1970
  --follow     with --since: continue with new puts
  --json       lines of JSON, also on a terminal
@exporter@
  --help       print this text

EXIT STATUS
  0 done, 1 no exporter answered, 2 wrong usage, 3 with --since: no such puts

EXAMPLES
  ioc_exporter puts --pv='SR:.*' --unexpected
  ioc_exporter puts --since=10m --user=ada | jq .value
  ioc_exporter puts --since=yesterday --pv='SR:.*'
)help";

constexpr std::array<const char*, 8> kColumns = {"TIME", "IOC",    "PV",   "OLD",
                                                 "NEW",  "CLIENT", "USER", "RESULT"};

std::string text_of(const Json& json, const char* key) {
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

std::string value_text(const Json& json, const char* key) {
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
  std::string text = text_of(json, "status");
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

std::optional<Row> row_of(const std::string& line, bool days) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const std::string user = text_of(json, "user"), host = text_of(json, "client_host");
  const std::string action = text_of(json, "action"), rule = text_of(json, "rule");
  const std::string status = text_of(json, "status");
  Row row;
  row.cells = {local_time_of(text_of(json, "time"), days),
               terminal_cell(text_of(json, "ioc")),
               terminal_cell(text_of(json, "pv")),
               value_text(json, "old"),
               value_text(json, "value") + count_text(json),
               terminal_cell(text_of(json, "client")),
               terminal_cell(host.empty() ? user : user + "@" + host),
               result_text(json),
               action.empty() ? "" : terminal_cell(rule.empty() ? action : action + ": " + rule)};
  row.bad = action == "unexpected" || action == "forbidden";
  row.failed = !status.empty() && status != "ok";
  return row;
}

// Characters, as good as it goes without their widths.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

bool write(std::FILE* out, const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), out) == text.size() && std::fflush(out) == 0;
}

// `why` may contain text of the server.
int fail(std::FILE* err, int status, const std::string& why) {
  std::fprintf(err, "ioc_exporter puts: %s\n", terminal_cell(why).c_str());
  return status;
}

// Target of the request to the exporter.
Result<std::string> target_of(const CommandLine& line) {
  std::string target = std::string(kPutsPath) + "?";
  for (const char* name : {"pv", "client", "user", "ioc", "since"})
    if (const std::string& word = line.values.at(name); !word.empty())
      target.append(name).append("=").append(percent_encoded(word)).append("&");
  if (line.given.contains("unexpected")) target += "unexpected=1&";
  const bool follow = line.values.at("since").empty() || line.given.contains("follow");
  if (follow) target += "follow=1&";
  target.pop_back();
  // Errors here are wrong usage, not the exporter's refusal.
  const auto query = parse_put_query(target.substr(target.find('?') + 1), {});
  if (!query) return query.error();
  return target;
}

// The output of events.
class Printer {
 public:
  Printer(std::FILE* out, bool json, bool days)
      : out_(out),
        json_(json),
        table_(::isatty(::fileno(out)) == 1 && std::getenv("NO_COLOR") == nullptr, days) {}

  bool print(const std::vector<std::string>& events) {
    if (events.empty()) return true;
    return write(out_, json_ ? json_lines(events) : table_.lines(events));
  }

 private:
  std::FILE* out_;
  const bool json_;
  PutsTable table_;
};

int print_those_since(const CommandLine& line, const std::string& target, Printer& printer,
                      std::FILE* err) {
  LineStream lines;
  bool written = true, any = false;
  const auto answered = follow_exporter(line, target, [&](std::string_view piece) {
    std::vector<std::string> events;
    const bool good = lines.take(piece, events);
    any = any || !events.empty();
    written = printer.print(events);
    return good && written;
  });
  if (!answered) return fail(err, kFailed, answered.error().message());
  if (!written) return any ? 0 : kFailed;  // a pipe that was closed: enough
  if (const std::string problem = lines.problem(); !problem.empty())
    return fail(err, kFailed, not_an_exporter(line, problem).message());
  return any ? 0 : kNone;
}

int print_as_they_come(const CommandLine& line, const std::string& target, Printer& printer,
                       std::FILE* err) {
  EventStream stream;
  bool written = true;
  const auto followed = follow_exporter(line, target, [&](std::string_view piece) {
    written = printer.print(stream.take(piece));
    return written && !stream.was_too_slow();
  });
  if (!followed) return fail(err, kFailed, followed.error().message());
  if (!written) return 0;  // a pipe that was closed: enough
  return fail(err, kFailed,
              stream.was_too_slow() ? "more puts came than were taken here: the exporter let go; "
                                      "give a filter"
                                    : "the exporter has ended the connection");
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
  std::string text;
  for (const Row& row : rows) {
    const bool is_head = is_first && &row == &rows.front();
    const char* const colour = row.bad ? kRed : row.failed ? kYellow : nullptr;
    if (coloured_ && colour != nullptr) text += colour;
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const bool dim = coloured_ && i == 3 && colour == nullptr && !is_head;
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

std::vector<std::string> EventStream::take(std::string_view piece) {
  std::vector<std::string> events;
  rest_ += piece;
  std::size_t at = 0;
  for (std::size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', at)) {
    const std::string_view line = std::string_view(rest_).substr(at, end - at);
    at = end + 1;
    if (line.empty()) {
      if (name_ == "lost") too_slow_ = true;
      if (name_.empty() && !data_.empty()) events.push_back(std::move(data_));
      data_.clear();
      name_.clear();
    } else if (line.starts_with("data: ")) {
      data_ = line.substr(6);
    } else if (line.starts_with("event: ")) {
      name_ = line.substr(7);
    }
  }
  rest_.erase(0, at);
  if (rest_.size() > kLongestLine) rest_.clear();
  return events;
}

bool LineStream::take(std::string_view piece, std::vector<std::string>& lines) {
  rest_ += piece;
  std::size_t at = 0;
  for (std::size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', at)) {
    std::string line = rest_.substr(at, end - at);
    at = end + 1;
    if (line.empty()) continue;  // it is still looking
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_discarded()) problem_ = "a line is no JSON";
    if (json.is_object() && json.contains("error")) problem_ = text_of(json, "error");
    if (!problem_.empty()) return false;
    lines.push_back(std::move(line));
  }
  rest_.erase(0, at);
  if (rest_.size() > kLongestLine) problem_ = "a line is longer than 16 MiB";
  return problem_.empty();
}

int puts_command(int count, const char* const* arguments, std::FILE* out, std::FILE* err) {
  const auto line = parse_command(
      with_exporter_options({{{"pv", ""}, {"client", ""}, {"user", ""}, {"ioc", ""}, {"since", ""}},
                             {"unexpected", "follow", "json"}}),
      count, arguments);
  const auto usage = [err](const std::string& why) {
    return fail(err, kUsage, why + " (see ioc_exporter puts --help)");
  };
  if (!line) return usage(line.error().message());
  if (line->given.contains("help")) return write(out, with_exporter_help(kHelp)) ? 0 : kFailed;
  if (!line->words.empty()) return usage("unexpected argument \"" + line->words.front() + "\"");
  const auto target = target_of(*line);
  if (!target) return usage(target.error().message());
  Printer printer(out, line->given.contains("json") || ::isatty(::fileno(out)) != 1,
                  !line->values.at("since").empty());
  return target->find("follow=1") == std::string::npos
             ? print_those_since(*line, *target, printer, err)
             : print_as_they_come(*line, *target, printer, err);
}

}  // namespace ioc_exporter::putlog
