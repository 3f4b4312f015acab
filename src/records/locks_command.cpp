#include "records/locks_command.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <thread>

#include "base/value_text.h"
#include "records/memory/record_locks.h"

namespace ioc_exporter::records {
namespace {

constexpr int kNoLocks = 1, kWrongUsage = 2;
constexpr std::chrono::milliseconds kUntilAskedAgain{1200};
constexpr const char* kNone = "no thread waits for the lock of a record\n";

constexpr const char* kLocksHelp = R"help(NAME
  ioc_exporter locks - locks of records that threads wait for

SYNOPSIS
  ioc_exporter locks [--url=URL]

DESCRIPTION
  Asks the ioc_exporter that runs on the IOCs' host, and prints each lock of a record that a thread
  has waited for longer than a second, as two looks at the threads tell:

    IOC       the IOC
    RECORD    the record that the holder processes, or else the first of the lock set by name
    HELD BY   thread that holds the lock
    WAITING   threads that wait for it
    FOR       how long the first of them has waited, at least

OPTIONS
@exporter@
  --help      print this text

EXIT STATUS
  0 printed, 1 no exporter answered, 2 wrong usage
)help";

CommandResult locks_failed(int status, const std::string& why) {
  return {status, "", "ioc_exporter locks: " + why + "\n"};
}

}  // namespace

std::string locks_text(const std::function<std::vector<IocSample>()>& read) {
  const auto table = lock_waits_table(read());
  if (table.rows.empty()) return kNone;
  std::vector<TableRow> rows = {{"IOC", "RECORD", "HELD BY", "WAITING", "FOR"}};
  for (const auto& cells : table.rows)
    std::ranges::transform(cells, std::back_inserter(rows.emplace_back()), terminal_cell);
  return text_table(rows);
}

CommandResult locks_command(int count, const char* const* arguments) {
  const auto line = parse_command(with_exporter_options({}), count, arguments);
  if (!line)
    return locks_failed(kWrongUsage, line.error().message() + " (see ioc_exporter locks --help)");
  if (line->given.contains("help")) return {0, with_exporter_help(kLocksHelp), ""};
  if (!line->words.empty())
    return locks_failed(kWrongUsage, "unexpected argument " + line->words.front());
  auto body = ask_exporter(*line, kLocksPath);
  if (body && *body == kNone) {  // the second look tells
    std::this_thread::sleep_for(kUntilAskedAgain);
    body = ask_exporter(*line, kLocksPath);
  }
  if (!body) return locks_failed(kNoLocks, body.error().message());
  std::string text, row;
  for (std::istringstream rows(*body); std::getline(rows, row);) text += terminal_cell(row) + "\n";
  return {0, text, ""};
}

}  // namespace ioc_exporter::records
