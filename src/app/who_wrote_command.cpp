#include "app/who_wrote_command.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/text_table.h"
#include "base/time_text.h"
#include "base/utf8.h"
#include "base/http_client.h"
#include "base/query.h"
#include "base/rooted_fs.h"

namespace ioc_exporter::app {
namespace {

constexpr int kFailed = 1, kUsage = 2, kNobody = 3;

constexpr const char* kHelp = R"help(NAME
  ioc_exporter who-wrote - who wrote to a PV last, over Channel Access

SYNOPSIS
  ioc_exporter who-wrote [--url=URL] [--login-file=FILE] [--limit=N] [--json] PV

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
    OPERATION  write, or write_notify (a put with callback)
    PUTS       how many since the exporter saw the first

  "-" is what the exporter does not know. Puts are listed whether or not the IOC carried them out
  (epics_ca_put_failures_total on /metrics counts those that it refused), and only those since
  the exporter started. Any user may ask.

OPTIONS
  --url=URL   where the exporter answers (default: http://localhost:10064)
  --login-file=FILE
              a file with one line USER:PASSWORD, where the exporter asks for a password
  --limit=N   print the last N lines only, 0 for all (default: 20)
  --json      print the exporter's answer as it is, times in seconds since 1970
  --help      print this text

EXIT STATUS
  0 puts were found, 1 no exporter answered, 2 wrong usage, 3 nobody wrote

EXAMPLES
  ioc_exporter who-wrote SR:B1:Current-SP
  ioc_exporter who-wrote --url=http://ioc-host:10064 SR:B1:Current-SP.DRVH
)help";

struct Arguments {
  std::string url = "http://localhost:10064";
  std::string login_file;
  std::size_t limit = 20;
  bool json = false;
  bool help = false;
  std::string pv;
};

// The value of "--name=value", or of "--name" "value"; then `i` is at the value.
const char* value_of(const std::string& option, const char* name, int count,
                     const char* const* arguments, int& i) {
  const std::string start = std::string("--") + name;
  if (option.starts_with(start + "=")) return arguments[i] + start.size() + 1;
  return option == start && i + 1 < count ? arguments[++i] : nullptr;
}

Result<Arguments> parse(int count, const char* const* given) {
  Arguments arguments;
  for (int i = 0; i < count; ++i) {
    const std::string word = given[i];
    if (word == "--help" || word == "-h") {
      arguments.help = true;
    } else if (word == "--json") {
      arguments.json = true;
    } else if (const char* url = value_of(word, "url", count, given, i)) {
      arguments.url = url;
    } else if (const char* file = value_of(word, "login-file", count, given, i)) {
      arguments.login_file = file;
    } else if (const char* limit = value_of(word, "limit", count, given, i)) {
      const std::string_view text = limit;
      const char* const end = text.data() + text.size();
      const auto [after, failed] = std::from_chars(text.data(), end, arguments.limit);
      if (failed != std::errc() || after != end)
        return error_in_words("--limit: \"" + std::string(text) + "\" is no number");
    } else if (word.starts_with("-")) {
      return error_in_words("unknown option, or one without its value: " + word);
    } else if (!arguments.pv.empty()) {
      return error_in_words("one PV at a time: " + arguments.pv + " and " + word);
    } else {
      arguments.pv = word;
    }
  }
  if (arguments.pv.empty() && !arguments.help) return error_in_words("no PV was given");
  return arguments;
}

// "USER:PASSWORD", the file's first line; "" where no file was given.
Result<std::string> read_login(const std::string& file) {
  if (file.empty()) return std::string();
  auto text = RootedFs().read(file, 4096);
  if (!text) return error_in_words("read " + file + ": " + text.error().code.message());
  std::string login = text->substr(0, text->find_first_of("\r\n"));
  if (login.find(':') == std::string::npos)
    return error_in_words("read " + file + ": its first line is not USER:PASSWORD");
  return login;
}

CommandResult failed(int status, const std::string& why) {
  return {status, "", "ioc_exporter who-wrote: " + why + "\n"};
}

// Users and hosts are what any client says: nothing of it may steer the terminal.
std::string cell(const std::string& text) {
  const std::string clean = printable_utf8(text, text.size());
  return clean.empty() ? "-" : clean;
}

TableRow put_row(const PutSample& put, double now) {
  const bool timed = put.last_time_seconds > 0;
  return {timed ? local_time(put.last_time_seconds) : "-",
          timed ? span_text(now - put.last_time_seconds) : "-",
          cell(put.ioc),
          cell(put.pv),
          cell(put.client),
          cell(put.user),
          cell(put.host),
          put.op == PutOp::write ? "write" : "write_notify",
          std::to_string(put.count)};
}

std::string nobody(const ca::WhoWrote& answer, double now) {
  std::string text = "Nobody wrote to " + cell(answer.pv);
  if (answer.counting_since_seconds > 0)
    text += " since the exporter started, " + local_time(answer.counting_since_seconds) + " (" +
            span_text(now - answer.counting_since_seconds) + " ago)";
  if (answer.records.empty()) return text + "; no IOC of its host is known to have that record.\n";
  text += answer.records.size() == 1 ? "; it is a record of ioc " : "; it is a record of the iocs ";
  for (std::size_t i = 0; i < answer.records.size(); ++i)
    text += (i == 0 ? "" : ", ") + cell(answer.records[i].ioc);
  return text + ".\n";
}

}  // namespace

CommandResult who_wrote_text(const ca::WhoWrote& answer, std::size_t limit, double now) {
  CommandResult result;
  if (answer.puts.empty()) {
    result.status = kNobody;
    result.out = nobody(answer, now);
  } else {
    std::vector<TableRow> rows = {
        {"TIME", "AGO", "IOC", "PV", "CLIENT", "USER", "HOST", "OPERATION", "PUTS"}};
    const std::size_t shown = limit == 0 ? answer.puts.size() : std::min(limit, answer.puts.size());
    for (std::size_t i = 0; i < shown; ++i) rows.push_back(put_row(answer.puts[i], now));
    result.out = text_table(rows);
    if (shown < answer.puts.size())
      result.out += "... and " + std::to_string(answer.puts.size() - shown) +
                    " more that wrote before (--limit=0 shows all)\n";
  }
  if (answer.unnamed_puts > 0)
    result.err += "not in this list: " + std::to_string(answer.unnamed_puts) +
                  " puts on channels whose PV name the exporter does not know\n";
  if (!answer.problem.empty()) result.err += cell(answer.problem) + "\n";
  return result;
}

CommandResult who_wrote_command(int count, const char* const* given) {
  const auto arguments = parse(count, given);
  if (!arguments)
    return failed(kUsage, arguments.error().message() + " (see ioc_exporter who-wrote --help)");
  if (arguments->help) return {0, kHelp, ""};
  std::string url = arguments->url;
  while (url.ends_with('/')) url.pop_back();
  const std::string what = "ask the exporter at " + arguments->url + ": ";
  const auto login = read_login(arguments->login_file);
  if (!login) return failed(kFailed, login.error().message());
  const auto fetched =
      fetch(url + ca::kWhoWrotePath + "?pv=" + percent_encoded(arguments->pv),
                  std::chrono::seconds(10), *login);
  if (!fetched)
    return failed(kFailed, what + fetched.error().message() +
                               " (does ioc_exporter run there? --url says where it listens)");
  if (fetched->status != 200)
    return failed(kFailed, what + "it answers with HTTP status " + std::to_string(fetched->status) +
                               ": " + cell(fetched->body.substr(0, 200)));
  const auto answer = ca::who_wrote_from_json(fetched->body);
  if (!answer)
    return failed(kFailed,
                  what + "it answers, but not as ioc_exporter does: " + answer.error().message());
  CommandResult result = who_wrote_text(*answer, arguments->limit, now_seconds());
  if (arguments->json) result.out = fetched->body;
  return result;
}

}  // namespace ioc_exporter::app
