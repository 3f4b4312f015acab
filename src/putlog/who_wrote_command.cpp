#include "putlog/who_wrote_command.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "base/json_reader.h"
#include "base/query.h"
#include "base/time_text.h"
#include "base/value_text.h"
#include "iocs/memory/record_names.h"
#include "policy/patterns.h"
#include "putlog/log_files.h"
#include "putlog/puts_table.h"
#include "puts/who_wrote.h"

namespace ioc_exporter::putlog {
namespace {

constexpr const char* kHelp =
    R"help(  Asks the ioc_exporter that runs on the IOC's host for the last put of every client to PV, and
  to every other name of the same record: its fields, its aliases, names with modifiers. Prints
  one line for each PV name, client, user, host and op, the latest first:

    TIME       when it wrote last, in the exporter's local time
    AGO        the same, counted from now
    IOC        the IOC, by its name on /metrics
    PV         the name that the client used
    CLIENT     the address that the put came from
    USER, CLIENT_HOST
               what the client said about itself
    OP         write, write_notify (a put with callback), or put (PV Access)
    PUTS       how many since the exporter saw the first

  "-" is what the exporter does not know. Puts are listed whether or not the IOC carried them out
  (epics_put_failures_total on /metrics counts those that it refused), and only those that the
  exporter has counted; a line says since when it has done so without a gap. Any user may ask.
  What was before is read from the put log's files of this host (--putlog.file of the exporter),
  by the record's name, where the user may read them.

  Lines below the table list other writes to the record, by the sources of
  epics_record_writes_total: by the IOC itself, and by clients under a name that is not known.
  "Nobody wrote" is printed only if the record's writes are counted and there are none.

OPTIONS
@exporter@
  --limit=N   print the last N lines only, 0 for all (default: 20)
  --json      print the exporter's answer as it is

EXIT STATUS
  0 somebody wrote, 1 it is not known or no exporter answered, 2 wrong usage,
  3 nobody is known to have written

EXAMPLES
  ioc_exporter who-wrote SR:B1:Current-SP
  ioc_exporter who-wrote --url=http://ioc-host:10064 SR:B1:Current-SP.DRVH
)help";

// IOC, PV, client's address, user and op, to the time of the last put.
using Last =
    std::map<std::tuple<std::string, std::string, std::string, std::string, std::string>, double>;
// The exporter's time of a put is that of the tick of the kernel's clock before it.
constexpr double kTick = 0.01;

Last last_puts(const Json& answer) {
  Last last;
  for (const Json& put : answer.at("puts").items())
    last[{put.text_at("ioc"), put.text_at("pv"), put.text_at("client"), put.text_at("user"),
          put.text_at("op")}] = seconds_of(put.text_at("time"));
  return last;
}

// The last line in the files of each PV name, client, user and op before `begin`, a time as they
// have it ("": all), that is later than the one that is known; the latest first.
Result<std::vector<std::string>> read_older(const std::string& path, const std::string& begin,
                                            const std::string& pv, const Last& known,
                                            std::string& reach) {
  const std::string record(iocs::parse_pv_name(pv).record);
  auto pattern = Pattern::compile(policy::literal_pattern(record) + "(\\..*)?");
  if (!pattern) return std::move(pattern).error();
  PutQuery query;
  query.filter.pv.include = std::move(*pattern);
  std::map<Last::key_type, std::pair<std::string, std::string>> last;  // to its time and line
  const auto read = read_log_files(path, query, [&](std::string_view line) {
    const auto put = Json::parse(line);
    if (!put) return true;
    const std::string time = put->text_at("time"), client = put->text_at("client");
    const Last::key_type key{put->text_at("ioc"), put->text_at("pv"),
                             client.substr(0, client.rfind(':')), put->text_at("user"),
                             put->text_at("op")};
    const auto shown = known.find(key);
    if ((begin.empty() || time < begin) &&
        (shown == known.end() || shown->second + kTick < seconds_of(time)))
      last[key] = {time, std::string(line)};
    return true;
  });
  if (!read) return read.error();
  reach = read->reach;
  std::vector<std::pair<std::string, std::string>> sorted;
  for (auto& [key, one] : last) sorted.push_back(std::move(one));
  std::ranges::sort(sorted, std::greater<>());
  std::vector<std::string> lines;
  for (auto& [time, line] : sorted) lines.push_back(std::move(line));
  return lines;
}

// Files of another host are none of ours.
bool is_this_host(const std::string& url) {
  const std::size_t host = url.find("://") + 3;
  return url.compare(host, 4, "127.") == 0 || url.compare(host, 9, "localhost") == 0 ||
         url.compare(host, 5, "[::1]") == 0;
}

// About puts that the exporter has not counted: before the last gap, or while it does not count.
// `found`: there are some in the files.
std::string older_text(const CommandLine& line, const Json& answer, std::uint64_t limit,
                       bool& found) {
  const std::string begin = answer.text_at("counting_since"), path = answer.text_at("put_log_file");
  const std::string start =
      begin.empty() ? "More puts" : "More puts before " + local_time(seconds_of(begin));
  if (begin.empty() && path.empty()) return "";
  if (path.empty()) return start + " may have been missed\n";
  if (!is_this_host(line.values.at("url")))
    return start + " may be in the put log's files: " + terminal_cell(path) + "\n";
  std::string reach;
  auto lines = read_older(path, begin, line.word, last_puts(answer), reach);
  if (!lines) return start + " are not known here: " + lines.error().message() + "\n";
  const std::string files =
      "the put log's files" + (reach.empty() ? "" : ", from " + reach + " on");
  if (lines->empty()) return start + ": none in " + files + "\n";
  found = true;
  if (limit > 0 && lines->size() > limit) lines->resize(limit);
  return start + ", in " + files + ":\n" + PutsTable(false, true).lines(*lines);
}

CommandResult who_wrote(const CommandLine& line, std::FILE*) {
  const auto limit = parse_whole_number(line.values.at("limit"), 0, UINT64_MAX);
  if (!limit) return wrong_usage("--limit: " + limit.error().message());
  const CommandResult answer =
      print_answer(line, std::string(puts::kWhoWrotePath) + "?pv=" + percent_encoded(line.word));
  if (answer.status != kDone) return answer;
  bool found = false;
  const auto text = read_json(answer.out, [&](const Json& puts) {
    return to_text(puts, *limit, now_seconds(), older_text(line, puts, *limit, found));
  });
  if (!text) return failed(not_an_exporter(line, text.error().message()));
  return {found ? kDone : text->status, line.given.contains("json") ? answer.out : text->text};
}

}  // namespace

Command who_wrote_command() {
  return {"who-wrote", "PV", "who wrote to a PV last", kHelp, {{{"limit", "20"}}, {"json"}},
          who_wrote};
}

}  // namespace ioc_exporter::putlog
