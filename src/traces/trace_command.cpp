#include "traces/trace_command.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/command_line.h"
#include "base/json_reader.h"
#include "base/query.h"
#include "base/time_text.h"
#include "putlog/puts_command.h"
#include "putlog/puts_table.h"
#include "traces/json.h"
#include "traces/trace_query.h"
#include "traces/tree_text.h"

namespace ioc_exporter::traces {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kHelp =
    R"help(  Asks the ioc_exporter on the IOC's host, which runs with --collector.traces, for traces of the
  chains in which a record with that name (a regular expression for the whole name) processes, and
  prints each as a tree when it is complete:

    first line  time, IOC, and cause: a scan, a callback, or a put with its client
    second line the trace's identifier, the thread, and why it was chosen: asked, rate, slower, ...
    START       time since the beginning of the trace
    DURATION    of dbProcess, with the records that it processed in turn; of an asynchronous record
                until its completion
    SELF        the same, without the records that it processed in turn
    *           the slowest branch: at each record, the slowest of those that it processed

  After a name stand the record's type, its alarm, why it did not process (skipped), and for an
  asynchronous record when dbProcess returned and when it completed. A trace whose end was not seen
  is marked cut.

  For live traces all calls of the IOC are timed. So only clients on the exporter's host, and users
  who may detach it, may ask for them. --since needs no such right.

OPTIONS
  --for=DURATION    follow for this time, 10m at most (default: 10s)
  --since=TIME      print the traces since then from the exporter's memory, and end: "10m", "today",
                    seconds since 1970, or a time as 09:07:16 or 2026-11-21T09:07:16Z
  --slower=DURATION only chains of this duration or longer: 5ms, 250us
  --cause=CAUSE     only chains with this cause: scan, callback, event, io_intr, once, ca, pva, main,
                    direct or other
  --ioc=REGEX       only of IOCs with such names
  --json            one line of JSON for each trace
@exporter@

EXIT STATUS
  0 done, 1 no exporter answered, 2 wrong usage, 3 no such records or traces

EXAMPLES
  ioc_exporter trace --for=1m --slower=5ms 'SR:.*'
  ioc_exporter trace --since=10m --cause=ca SR:I
)help";

// A random ticket: with the connection that follows, the demand with this ticket ends.
std::string word() {
  std::random_device device;
  return id_text(SpanId{device()} << 32 | device());
}

// Prints traces as they come. It stops where printing fails.
class Printer {
 public:
  Printer(const CommandLine& line, std::FILE* out)
      : out_(out),
        json_(line.given.contains("json")),
        coloured_(::isatty(::fileno(out)) == 1 && std::getenv("NO_COLOR") == nullptr) {}

  // False: no more are wanted.
  bool take(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) {
      auto trace = trace_from_json(line);
      if (!trace) {
        problem_ = trace.error().message();
        return false;
      }
      ++count_;
      ++causes_[trace->cause.kind];
      if (!write_text(out_,
                      json_ ? putlog::json_lines({to_json(*trace)}) : tree_text(*trace, coloured_)))
        closed_ = true;
      if (closed_) return false;
    }
    return true;
  }
  std::uint64_t count() const { return count_; }
  // What to ask for where nearly all traces have one cause, and it is no put; "": nothing.
  std::string advice() const {
    constexpr std::uint64_t kMany = 20;
    for (const auto& [cause, count] : causes_)
      if (count >= kMany && count >= count_ / 10 * 9 && cause != "ca" && cause != "pva")
        return std::to_string(count) + " of " + std::to_string(count_) + " traces have the cause " +
               cause + ": --cause=ca leaves those of puts";
    return "";
  }
  bool closed() const { return closed_; }  // a pipe: enough
  const std::string& problem() const { return problem_; }

 private:
  std::FILE* out_;
  const bool json_, coloured_;
  std::uint64_t count_ = 0;
  std::map<std::string, std::uint64_t> causes_;
  bool closed_ = false;
  std::string problem_;
};

// Query of the given words.
std::string query_of(const CommandLine& line, std::initializer_list<const char*> names) {
  std::string query = "record=" + percent_encoded(line.word);
  for (const char* name : names)
    if (const std::string& word = line.values.at(name); !word.empty())
      query.append("&").append(name).append("=").append(percent_encoded(word));
  return query;
}

// How many records an answer to a demand tells of.
Result<std::uint64_t> asked_records(const std::string& answer) {
  return read_json(answer, [](const Json& json) { return json.at("records").count(); });
}

CommandResult result_of(const CommandLine& line, const Printer& printer,
                        const std::string& problem) {
  if (printer.closed()) return {};
  if (!problem.empty()) return {kFailed, "", problem};
  if (!printer.problem().empty()) return failed(not_an_exporter(line, printer.problem()));
  return {printer.count() > 0 ? kDone : kNotFound, "",
          line.values.at("cause").empty() ? printer.advice() : ""};
}

CommandResult print_those_since(const CommandLine& line, Printer& printer) {
  const std::string target =
      std::string(kTracesPath) + "?" + query_of(line, {"ioc", "cause", "slower", "since"});
  putlog::LineStream stream;
  const auto answered = follow_exporter(line, target, [&](std::string_view piece) {
    std::vector<std::string> lines;
    const bool good = stream.take(piece, lines);
    return printer.take(lines) && good;
  });
  if (!answered) return failed(answered.error());
  std::string problem = stream.problem();
  if (!problem.empty()) problem = not_an_exporter(line, problem).message();
  return result_of(line, printer, printer.problem().empty() ? problem : "");
}

// Follows first, and asks then, so that none is missed.
CommandResult print_as_they_come(const CommandLine& line, std::chrono::milliseconds lasts,
                                 Printer& printer) {
  const std::string query = query_of(line, {"ioc", "cause", "slower"});
  const std::string target =
      std::string(kTracesPath) + "?" + query + "&for=" + duration_text(lasts) + "&demand=" + word();
  const auto ask = [&]() -> Result<std::uint64_t> {
    auto answer = post_to_exporter(line, target);
    if (!answer) return std::move(answer).error();
    auto records = asked_records(*answer);
    if (!records) return not_an_exporter(line, records.error().message());
    return records;
  };
  putlog::EventStream stream;
  std::string problem;
  std::optional<std::uint64_t> records;
  auto until = Clock::time_point::max();
  const auto followed = follow_exporter(line, target + "&follow=1", [&](std::string_view piece) {
    if (!records) {
      auto asked = ask();
      if (!asked) problem = asked.error().message();
      if (!asked || *asked == 0) return false;
      records = *asked;
      until = Clock::now() + lasts;
    }
    if (!printer.take(stream.take(piece))) return false;
    if (stream.was_too_slow())
      problem = "more traces came than were taken here: the exporter let go; give --slower";
    return problem.empty();
  });
  if (!followed) return failed(followed.error());
  if (problem.empty() && !records) return {kNotFound, "", "no IOC has such a record: " + line.word};
  if (problem.empty() && printer.problem().empty() && !printer.closed() && Clock::now() < until)
    problem = "the exporter has ended the connection";
  return result_of(line, printer, problem);
}

CommandResult print_traces(const CommandLine& line, std::FILE* out) {
  const bool since = !line.values.at("since").empty();
  if (since && line.given.contains("for"))
    return wrong_usage("--since and --for exclude each other");
  // Errors here are wrong usage, not the exporter's refusal.
  const std::string query = query_of(line, {"ioc", "cause", "slower", "since", "for"});
  const auto good = parse_trace_query(query, {});
  if (!good) return wrong_usage(good.error().message());
  const auto demand = parse_demand(query);
  if (!demand) return wrong_usage(demand.error().message());
  Printer printer(line, out);
  return since ? print_those_since(line, printer)
               : print_as_they_come(line, demand->lasts, printer);
}

}  // namespace

Command trace_command() {
  return {"trace",
          "RECORD",
          "which records a put, scan or callback processes, with times",
          kHelp,
          {{{"for", ""}, {"since", ""}, {"slower", ""}, {"cause", ""}, {"ioc", ""}}, {"json"}},
          print_traces};
}

}  // namespace ioc_exporter::traces
