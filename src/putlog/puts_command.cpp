#include "putlog/puts_command.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <initializer_list>
#include <utility>

#include "base/json_reader.h"
#include "base/query.h"
#include "base/time_text.h"
#include "exposition/json_text.h"
#include "putlog/json.h"
#include "putlog/log_files.h"
#include "putlog/put_query.h"
#include "putlog/puts_table.h"
#include "puts/pending.h"

namespace ioc_exporter::putlog {
namespace {

constexpr std::size_t kLongestLine = 16u << 20, kLinesAtOnce = 1000;

constexpr const char* kHelp =
    R"help(  Follows the ioc_exporter on the IOC's host, which runs with --collector.putlog, and prints a line
  for each new put, until Ctrl-C:

    TIME     local time; with --since, its day too
    IOC PV   the IOC, and the PV by the client's name for it
    OLD NEW  the value before, where it is known, and the new one
    CLIENT   the address and port of the client
    USER     user@host, as the client says
    RESULT   ok or the failure; for puts with callback also the duration
    POLICY   verdict of the site's policy, and its rule

  With --pending, prints the puts with callback that wait for their end, the ten oldest of each
  IOC: since when, and what waits. It needs no put log.

  Where an answer does not reach back as far as --since, a line on standard error says so.

  "-" stands for an unknown value. In a pipe, or with --json, each put is one line of JSON
  (docs/putlog.md has the keys). Any user may ask.

OPTIONS
  --pv, --client, --user, --ioc
               regular expressions for the whole name; a client by its address or address:port.
               !EXPRESSION: all others
  --unexpected only puts that the policy does not allow
  --inside     also writes inside the IOCs: by the sequencer, by CA links
  --since=TIME print the puts since then from the exporter's memory, and end: "10m", "1h30m",
               "today", "yesterday", seconds since 1970, or a time as in the column TIME or as
               2026-11-21T09:07:16Z; without a zone the exporter's local time
  --until=TIME with --since: none after then
  --file=FILE  with --since: from the put log's file (--putlog.file) and the older ones, FILE.1 and
               so on, which reach back for days. Needs no exporter, but the right to read the files.
               A burst is one line there
  --follow     with --since: continue with new puts
  --pending    puts with callback that have not ended yet, and end
  --json       lines of JSON, also on a terminal
@exporter@

EXIT STATUS
  0 done, 1 no exporter answered or a file cannot be read, 2 wrong usage, 3 with --since or
  --pending: no such puts

EXAMPLES
  ioc_exporter puts --pv='SR:.*' --unexpected
  ioc_exporter puts --since=10m --user=ada | jq .value
  ioc_exporter puts --since=yesterday --pv='SR:.*' --file=/var/log/ioc_exporter/puts.jsonl
  ioc_exporter puts --pending
)help";

Result<PutQuery> parse_query(const std::string& target) {
  return parse_put_query(target.substr(target.find('?') + 1), std::chrono::system_clock::now());
}

// Target of the request to the exporter.
Result<std::string> target_of(const CommandLine& line) {
  std::string target = std::string(kPutsPath) + "?";
  for (const char* name : {"since", "until", "pv", "client", "user", "ioc"})
    if (const std::string& word = line.values.at(name); !word.empty())
      target.append(name).append("=").append(percent_encoded(word)).append("&");
  for (const char* name : {"unexpected", "inside"})
    if (line.given.contains(name)) target.append(name).append("=1&");
  const bool follow = line.values.at("since").empty() || line.given.contains("follow");
  if (follow) target += "follow=1&";
  target.pop_back();
  // Errors here are wrong usage, not the exporter's refusal.
  const auto query = parse_query(target);
  return query ? Result<std::string>(target) : query.error();
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
    return write_text(out_, json_ ? json_lines(events) : table_.lines(events));
  }

 private:
  std::FILE* out_;
  const bool json_;
  PutsTable table_;
};

// `any`: puts came. A pipe that was closed has enough.
CommandResult done(bool written, bool any, const std::string& said = "") {
  if (!written) return {any ? kDone : kFailed};
  return {any ? kDone : kNotFound, "", said};
}

CommandResult print_those_since(const CommandLine& line, const std::string& target,
                                Printer& printer) {
  LineStream lines;
  bool written = true, any = false;
  const auto answered = follow_exporter(line, target, [&](std::string_view piece) {
    std::vector<std::string> events;
    const bool good = lines.take(piece, events);
    any = any || !events.empty();
    written = printer.print(events);
    return good && written;
  });
  if (!answered) return failed(answered.error());
  if (const std::string problem = lines.problem(); written && !problem.empty())
    return failed(not_an_exporter(line, problem));
  return done(written, any,
              lines.reach().empty() ? ""
                                    : "the exporter knows puts since " + lines.reach() +
                                          " only; older ones are in the put log's files, if there "
                                          "are any (--file)");
}

CommandResult print_from_files(const std::string& path, const std::string& target,
                               Printer& printer) {
  const auto query = parse_query(target);
  std::vector<std::string> lines;
  bool written = true, any = false;
  const auto read = read_log_files(path, *query, [&](std::string_view line) {
    any = true;
    lines.emplace_back(line);
    if (lines.size() == kLinesAtOnce) written = printer.print(std::exchange(lines, {}));
    return written;
  });
  written = written && printer.print(lines);
  if (!read) return failed(read.error());
  std::string said;
  if (read->unlike > 0)
    said = std::to_string(read->unlike) + " lines of " + path + " are no puts\n";
  if (read->reach > time_text(*query->since))
    said += "the files have puts since " + read->reach + " only";
  return done(written, any, said);
}

CommandResult print_as_they_come(const CommandLine& line, const std::string& target,
                                 Printer& printer) {
  EventStream stream;
  bool written = true;
  const auto followed = follow_exporter(line, target, [&](std::string_view piece) {
    written = printer.print(stream.take(piece));
    return written && !stream.was_too_slow();
  });
  if (!followed) return failed(followed.error());
  if (!written) return {};  // a pipe that was closed: enough
  return {kFailed, "",
          stream.was_too_slow() ? "more puts came than were taken here: the exporter let go; "
                                  "give a filter"
                                : "the exporter has ended the connection"};
}

CommandResult print_pending(const CommandLine& line) {
  auto body = ask_exporter(line, puts::kPendingPutsPath);
  if (!body) return failed(body.error());
  bool any = false;
  auto text = pending_text(*body, now_seconds(), &any);
  if (!text) return failed(not_an_exporter(line, "no list of puts"));
  return {any ? kDone : kNotFound, std::move(line.given.contains("json") ? *body : *text)};
}

CommandResult print_puts(const CommandLine& line, std::FILE* out) {
  const auto excludes = [&line](const char* option, std::initializer_list<const char*> others) {
    const auto other = std::ranges::find_if(
        others, [&line](const char* name) { return line.given.contains(name); });
    return !line.given.contains(option) || other == others.end()
               ? CommandResult{}
               : wrong_usage("--" + std::string(option) + " and --" + *other +
                             " do not go together");
  };
  for (const CommandResult& problem :
       {excludes("pending", {"pv", "client", "user", "ioc", "since", "until", "file", "unexpected",
                             "inside", "follow"}),
        excludes("follow", {"until", "file"}), excludes("file", {"url"})})
    if (problem.status != kDone) return problem;
  if (line.given.contains("pending")) return print_pending(line);
  const std::string& file = line.values.at("file");
  const bool has_since = !line.values.at("since").empty();
  for (const char* name : {"file", "until"})
    if (!has_since && line.given.contains(name))
      return wrong_usage("--" + std::string(name) + " needs --since");
  const auto target = target_of(line);
  if (!target) return wrong_usage(target.error().message());
  Printer printer(out, line.given.contains("json") || ::isatty(::fileno(out)) != 1, has_since);
  if (!file.empty()) return print_from_files(file, *target, printer);
  return !has_since || line.given.contains("follow") ? print_as_they_come(line, *target, printer)
                                                     : print_those_since(line, *target, printer);
}

}  // namespace

std::vector<std::string> EventStream::take(std::string_view piece) {
  std::vector<std::string> events;
  remainder_ += piece;
  std::size_t at = 0;
  for (std::size_t end = remainder_.find('\n'); end != std::string::npos;
       end = remainder_.find('\n', at)) {
    const std::string_view line = std::string_view(remainder_).substr(at, end - at);
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
  remainder_.erase(0, at);
  if (remainder_.size() > kLongestLine) remainder_.clear();
  return events;
}

bool LineStream::take(std::string_view piece, std::vector<std::string>& lines) {
  remainder_ += piece;
  std::size_t at = 0;
  for (std::size_t end = remainder_.find('\n'); end != std::string::npos;
       end = remainder_.find('\n', at)) {
    std::string line = remainder_.substr(at, end - at);
    at = end + 1;
    const auto json = Json::parse(line);
    if (!json) {
      problem_ = "a line: " + json.error().message();
      return false;
    }
    if (json->find(kReach) != nullptr) {
      reach_ = json->text_at(kReach);
      continue;
    }
    lines.push_back(std::move(line));
  }
  remainder_.erase(0, at);
  if (remainder_.size() > kLongestLine) problem_ = "a line is longer than 16 MiB";
  return problem_.empty();
}

Command puts_command() {
  return {"puts",
          "",
          "puts with values and clients, as they come or since a time",
          kHelp,
          {{{"pv", ""},
            {"client", ""},
            {"user", ""},
            {"ioc", ""},
            {"since", ""},
            {"until", ""},
            {"file", ""}},
           {"unexpected", "inside", "follow", "json", "pending"}},
          print_puts};
}

}  // namespace ioc_exporter::putlog
