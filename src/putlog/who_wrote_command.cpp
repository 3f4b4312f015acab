#include "putlog/who_wrote_command.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/json_reader.h"
#include "base/query.h"
#include "base/value_text.h"
#include "delivery/query_reader.h"
#include "iocs/memory/record_names.h"
#include "policy/patterns.h"
#include "putlog/json.h"
#include "putlog/log_files.h"
#include "putlog/puts_table.h"
#include "puts/who_wrote.h"

namespace ioc_exporter::putlog {
namespace {

constexpr const char* kHelp = R"help(NAME
  ioc_exporter who-wrote - who wrote to a PV last

SYNOPSIS
  ioc_exporter who-wrote [--url=URL] [--limit=N] [--json] PV

DESCRIPTION
  Asks the ioc_exporter that runs on the IOC's host for the last put of every client to PV, and
  to every other name of the same record: its fields, its aliases, names with modifiers. Prints
  one line for each PV name, client, user, host and operation, the latest first:

    TIME       when it wrote last, in the exporter's local time
    AGO        the same, counted from now
    IOC        the IOC, by its name on /metrics
    PV         the name that the client used
    CLIENT     the address that the put came from
    USER HOST  what the client said about itself
    OPERATION  write, write_notify (a put with callback), or put (PV Access)
    PUTS       how many since the exporter saw the first

  "-" is what the exporter does not know. Puts are listed whether or not the IOC carried them out
  (epics_put_failures_total on /metrics counts those that it refused), and only those since
  the exporter started; a line says when. Any user may ask. What was before is read from the put
  log's files of this host (--putlog.file of the exporter), by the record's name, where the user
  may read them.

  Lines below the table list other writes to the record, by the sources of
  epics_record_writes_total: by the IOC itself, and by clients under a name that is not known.
  "Nobody wrote" is printed only if the record's writes are counted and there are none.

OPTIONS
@exporter@
  --limit=N   print the last N lines only, 0 for all (default: 20)
  --json      print the exporter's answer as it is, times in seconds since 1970
  --help      print this text

EXIT STATUS
  0 printed, 1 no exporter answered, 2 wrong usage

EXAMPLES
  ioc_exporter who-wrote SR:B1:Current-SP
  ioc_exporter who-wrote --url=http://ioc-host:10064 SR:B1:Current-SP.DRVH
)help";

Result<std::string> target_of(const CommandLine& line) {
  const auto limit = parse_whole_number(line.values.at("limit"), 0, UINT64_MAX);
  if (!limit) return error_in_words("--limit: " + limit.error().message());
  return std::string(puts::kWhoWrotePath) + "?pv=" + percent_encoded(line.words.front()) +
         (line.given.contains("json") ? "" : "&format=text&limit=" + std::to_string(*limit));
}

// The line of the exporter's text about puts before it counted.
struct Older {
  std::size_t at = 0, size = 0;  // in the text, with its end
  std::string time, path;
};

std::optional<Older> find_older(const std::string& text) {
  const std::string start = "\n" + std::string(puts::kPutsBefore);
  const std::size_t at = text.find(start);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t time = at + start.size(), end = text.find('\n', time);
  const std::size_t path = text.find(puts::kAreInFiles, time);
  if (end == std::string::npos || path == std::string::npos || path > end) return std::nullopt;
  const std::size_t name = path + puts::kAreInFiles.size();
  return Older{at + 1, end - at, text.substr(time, path - time), text.substr(name, end - name)};
}

// The last line of each PV name, client, user and operation before `time`; the latest first.
Result<std::vector<std::string>> read_older(const Older& older, const std::string& pv,
                                            std::string& reach) {
  const std::string record(iocs::parse_pv_name(pv).record);
  auto pattern = Pattern::compile(policy::literal_pattern(record) + "(\\..*)?");
  if (!pattern) return std::move(pattern).error();
  const auto since = delivery::parse_since(older.time, std::chrono::system_clock::now());
  if (!since) return since.error();
  const std::string begin = time_text(**since);  // as times stand in the log
  PutQuery query;
  query.filter.pv.include = std::move(*pattern);
  using Key = std::tuple<std::string, std::string, std::string, std::string, std::string>;
  std::map<Key, std::pair<std::string, std::string>> last;  // to its time and line
  const auto read = read_log_files(older.path, query, [&](std::string_view line) {
    const auto put = Json::parse(line);
    if (!put) return true;
    const std::string time = put->text_at("time"), client = put->text_at("client");
    if (time < begin)
      last[{put->text_at("ioc"), put->text_at("pv"), client.substr(0, client.rfind(':')),
            put->text_at("user"), put->text_at("op")}] = {time, std::string(line)};
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

std::string older_text(const Older& older, const std::string& pv, std::uint64_t limit) {
  std::string reach;
  auto lines = read_older(older, pv, reach);
  const std::string start(puts::kPutsBefore);
  if (!lines) return start + older.time + " are not known here: " + lines.error().message() + "\n";
  const std::string files =
      "the put log's files" + (reach.empty() ? "" : ", from " + reach + " on");
  if (lines->empty()) return start + older.time + ": none in " + files + "\n";
  if (limit > 0 && lines->size() > limit) lines->resize(limit);
  return start + older.time + ", in " + files + ":\n" + PutsTable(false, true).lines(*lines);
}

// Files of another host are none of ours.
bool is_this_host(const std::string& url) {
  const std::size_t host = url.find("://") + 3;
  return url.compare(host, 4, "127.") == 0 || url.compare(host, 9, "localhost") == 0 ||
         url.compare(host, 5, "[::1]") == 0;
}

}  // namespace

CommandResult who_wrote_command(int count, const char* const* arguments) {
  const CommandOptions options{{{"limit", "20"}}, {"json"}};
  CommandResult result =
      run_page_command({"who-wrote", kHelp, "PV", options, target_of}, count, arguments);
  const auto line = parse_command(with_exporter_options(options), count, arguments);
  const auto older = find_older("\n" + result.out);
  if (result.status != 0 || !line || line->given.contains("json") || !older ||
      !is_this_host(line->values.at("url")))
    return result;
  const auto limit = parse_whole_number(line->values.at("limit"), 0, UINT64_MAX);
  result.out.replace(older->at - 1, older->size, older_text(*older, line->words.front(), *limit));
  return result;
}

}  // namespace ioc_exporter::putlog
