#include "puts/who_wrote_command.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "base/command_line.h"
#include "base/query.h"
#include "base/time_text.h"
#include "base/value_text.h"
#include "puts/totals/put_families.h"

namespace ioc_exporter::ca {
namespace {

constexpr int kFailed = 1, kUsage = 2, kNobody = 3;

constexpr const char* kHelp = R"help(NAME
  ioc_exporter who-wrote - who wrote to a PV last

SYNOPSIS
  ioc_exporter who-wrote [--url=URL | --targets=FILE | --prometheus=URL] [--limit=N] [--json] PV

DESCRIPTION
  Asks the ioc_exporter that runs on the IOC's host for the last put of every client to PV, and
  to every other name of the same record: its fields, its aliases, names with modifiers. Prints
  one line for each PV name, client, user, host and operation, the latest first:

    TIME       when it wrote last, in local time
    AGO        the same, counted from now
    IOC        the IOC, by its name on /metrics
    PV         the name that the client used
    CLIENT     the address that the put came from
    USER HOST  what the client said about itself
    OPERATION  write, write_notify (a put with callback), or put (PV Access)
    PUTS       how many since the exporter saw the first

  "-" is what the exporter does not know. Puts are listed whether or not the IOC carried them out
  (epics_put_failures_total on /metrics counts those that it refused), and only those since
  the exporter started. Any user may ask.

  Lines behind the table tell what else the record counted, by the sources of
  epics_record_writes_total: writes by the IOC itself, and by clients under a name that is not known.
  "Nobody wrote" stands only where the record counts its writes and has none.

  With --targets or --prometheus, asks all exporters of a site, with the same login and certificates;
  the column EXPORTER says whose line it is. Lines on standard error, with --json also "unanswered",
  name those that did not answer, and why.

OPTIONS
@exporter@
@site@
  --limit=N   print the last N lines only, 0 for all (default: 20)
  --json      print the exporter's answer as it is, times in seconds since 1970
  --help      print this text

EXIT STATUS
  0 puts or writes were found, 1 no exporter answered, or none saw a put and not all puts are known,
  2 wrong usage, 3 no write was seen, 4 some exporters of a site did not answer

EXAMPLES
  ioc_exporter who-wrote SR:B1:Current-SP
  ioc_exporter who-wrote --url=http://ioc-host:10064 SR:B1:Current-SP.DRVH
  ioc_exporter who-wrote --prometheus=http://prometheus:9090 SR:B1:Current-SP
)help";

struct Question {
  CommandLine line;
  std::size_t limit = 20;
  std::optional<SiteOptions> site = {};
};

Result<Question> parse(int count, const char* const* arguments) {
  auto line = parse_command(with_site_options({{{"limit", "20"}}, {"json"}}), count, arguments);
  if (!line) return std::move(line).error();
  Question question{std::move(*line), 0};
  if (question.line.given.contains("help")) return question;
  const auto& words = question.line.words;
  if (words.empty() || words.front().empty()) return error_in_words("no PV was given");
  if (words.size() > 1) return error_in_words("one PV at a time: " + words[0] + " and " + words[1]);
  const std::string& limit = question.line.values.at("limit");
  const char* const end = limit.data() + limit.size();
  const auto [after, failed] = std::from_chars(limit.data(), end, question.limit);
  if (failed != std::errc() || after != end)
    return error_in_words("--limit: \"" + limit + "\" is no number");
  auto site = site_options(question.line);
  if (!site) return std::move(site).error();
  question.site = std::move(*site);
  return question;
}

CommandResult failed(int status, const std::string& why) {
  return {status, "", "ioc_exporter who-wrote: " + terminal_lines(why) + "\n"};
}

TableRow put_row(const Writer& put, double now) {
  const bool timed = put.last_time_seconds > 0;
  return {timed ? local_time(put.last_time_seconds) : "-",
          timed ? span_text(now - put.last_time_seconds) : "-",
          terminal_cell(put.ioc),
          terminal_cell(put.pv),
          terminal_cell(put.client),
          terminal_cell(put.user),
          terminal_cell(put.host),
          std::string(op_name(put.op, put.by_pva)),
          std::to_string(put.count)};
}

// Writes that no line of the table tells: "Written by ioc one itself: 5 (link), 2 (shell)".
std::string other_writes(const WhoWrote& answer) {
  std::string text;
  for (const AskedRecord& record : answer.records) {
    std::string itself, unnamed;
    for (const auto& [source, count] :
         record.writes.value_or(decltype(record.writes)::value_type())) {
      const bool by_pva = source == "pva", by_client = by_pva || source == "ca";
      const bool is_told = by_client && std::ranges::any_of(answer.puts, [&](const Writer& put) {
                             return put.ioc == record.ioc && put.by_pva == by_pva;
                           });
      if (count == 0 || is_told) continue;
      std::string& to = by_client ? unnamed : itself;
      to += (to.empty() ? "" : ", ") + std::to_string(count) + " (" + terminal_cell(source) + ")";
    }
    const std::string ioc = terminal_cell(record.ioc);
    if (!itself.empty()) text += "Written by ioc " + ioc + " itself: " + itself + "\n";
    if (!unnamed.empty())
      text += "Written to ioc " + ioc + " by a name that is not known: " + unnamed + "\n";
  }
  return text;
}

std::string nobody(const WhoWrote& answer, double now, const SiteAnswers* site, bool written) {
  const bool of_site = site != nullptr;
  const std::size_t silent = of_site ? site->unanswered.size() : 0;
  const bool all_known =
      !answer.records.empty() &&
      std::ranges::all_of(answer.records, [](const auto& one) { return one.writes.has_value(); });
  const std::string pv = terminal_cell(answer.pv);
  std::string text =
      all_known && !written ? "Nobody wrote to " + pv : "No put to " + pv + " was seen";
  if (!written && (silent > 0 || !answer.problem.empty())) {
    text = "It is not known whether anybody wrote to " + pv;
    if (silent > 0)
      text += "; " + std::to_string(silent) + " of " + std::to_string(site->asked) +
              " exporters did not answer";
    if (!answer.problem.empty()) text += "; " + terminal_cell(answer.problem);
    text += ".\nNo put was seen";
  }
  if (answer.counting_since_seconds > 0)
    text += " since counting began, " + local_time(answer.counting_since_seconds) + " (" +
            span_text(now - answer.counting_since_seconds) + " ago)";
  if (answer.records.empty())
    return text + "; no IOC of " + (of_site ? "those that answered" : "its host") +
           " is known to have that record.\n";
  text += answer.records.size() == 1 ? "; it is a record of ioc " : "; it is a record of the iocs ";
  for (std::size_t i = 0; i < answer.records.size(); ++i)
    text += (i == 0 ? "" : ", ") + terminal_cell(answer.records[i].ioc);
  return text + (all_known ? "" : ", whose own writes are not all counted") + ".\n";
}

}  // namespace

CommandResult who_wrote_text(const WhoWrote& answer, std::size_t limit, double now,
                             const SiteAnswers* site) {
  CommandResult result;
  const std::string others = other_writes(answer);
  const bool any = !answer.puts.empty() || !others.empty();
  if (answer.puts.empty()) {
    result.status = any ? 0 : answer.problem.empty() ? kNobody : kFailed;
    result.out = nobody(answer, now, site, any);
  } else {
    std::vector<TableRow> rows = {
        {"TIME", "AGO", "IOC", "PV", "CLIENT", "USER", "HOST", "OPERATION", "PUTS"}};
    const std::size_t shown = limit == 0 ? answer.puts.size() : std::min(limit, answer.puts.size());
    for (std::size_t i = 0; i < shown; ++i) rows.push_back(put_row(answer.puts[i], now));
    for (std::size_t i = 0; site != nullptr && i < rows.size(); ++i)
      rows[i].insert(rows[i].begin() + 2,
                     i == 0 ? "EXPORTER" : terminal_cell(answer.puts[i - 1].exporter));
    result.out = text_table(rows);
    if (shown < answer.puts.size())
      result.out += "... and " + std::to_string(answer.puts.size() - shown) +
                    " more that wrote before (--limit=0 shows all)\n";
  }
  result.out += others;
  if (answer.unnamed_puts > 0)
    result.err += "not in this list: " + std::to_string(answer.unnamed_puts) +
                  " puts on channels whose PV name the exporter does not know\n";
  if (!answer.problem.empty()) result.err += terminal_cell(answer.problem) + "\n";
  if (site == nullptr) return result;
  result.err += site->lines("who-wrote");
  if (site->unanswered.size() == site->asked) result.out.clear();
  if (result.status != kFailed || !site->unanswered.empty()) result.status = site->status(any);
  return result;
}

namespace {

CommandResult ask_all(const Question& question, const std::string& target) {
  WhoWrote all;
  all.pv = question.line.words.front();
  const auto answers =
      ask_site(question.line, *question.site, target,
               [&all](const std::string& exporter, const std::string& body) -> Result<void> {
                 auto answer = who_wrote_from_json(body);
                 if (!answer) return unlike_ours(answer.error().message());
                 add_exporter(all, exporter, std::move(*answer));
                 return {};
               });
  if (!answers) return failed(kFailed, answers.error().message());
  CommandResult result = who_wrote_text(all, question.limit, now_seconds(), &*answers);
  if (question.line.given.contains("json")) result.out = to_json(all, &*answers);
  return result;
}

}  // namespace

CommandResult who_wrote_command(int count, const char* const* given) {
  const auto question = parse(count, given);
  if (!question)
    return failed(kUsage, question.error().message() + " (see ioc_exporter who-wrote --help)");
  const CommandLine& line = question->line;
  if (line.given.contains("help")) return {0, with_site_help(kHelp), ""};
  const std::string target =
      std::string(kWhoWrotePath) + "?pv=" + percent_encoded(line.words.front());
  if (question->site) return ask_all(*question, target);
  const auto body = ask_exporter(line, target);
  if (!body) return failed(kFailed, body.error().message());
  const auto answer = who_wrote_from_json(*body);
  if (!answer) return failed(kFailed, not_an_exporter(line, answer.error().message()).message());
  CommandResult result = who_wrote_text(*answer, question->limit, now_seconds());
  if (line.given.contains("json")) result.out = *body;
  return result;
}

}  // namespace ioc_exporter::ca
