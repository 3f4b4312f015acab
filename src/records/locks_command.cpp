#include "records/locks_command.h"

#include <chrono>
#include <thread>

#include "records/memory/record_locks.h"

namespace ioc_exporter::records {
namespace {

constexpr std::chrono::milliseconds kUntilReadAgain{1200};

constexpr const char* kLocksHelp = R"help(NAME
  ioc_exporter locks - locks of records that threads wait for

SYNOPSIS
  ioc_exporter locks [--url=URL]

DESCRIPTION
  Asks the ioc_exporter that runs on the IOCs' host, and prints each lock of a record that a thread
  has waited for longer than a second, as two readings of the threads show:

    IOC              the IOC
    RECORD           the record that the holder processes, or else the first of the lock set by name
    HELD BY          thread that holds the lock
    WAITING THREADS  threads that wait for it
    FOR AT LEAST     how long the first of them has waited

OPTIONS
@exporter@
  --help      print this text

EXIT STATUS
  0 printed, 1 no exporter answered, 2 wrong usage
)help";

}  // namespace

std::string locks_text(const std::function<std::vector<IocSample>()>& read) {
  auto table = lock_waits_table(read());
  if (table.rows.empty()) {  // the second look tells
    std::this_thread::sleep_for(kUntilReadAgain);
    table = lock_waits_table(read());
  }
  return table.rows.empty() ? "no thread waits for the lock of a record\n"
                            : exposition::table_text(table);
}

CommandResult locks_command(int count, const char* const* arguments) {
  const auto target = [](const CommandLine&) { return Result<std::string>(kLocksPath); };
  return run_page_command({"locks", kLocksHelp, "", {}, target}, count, arguments);
}

}  // namespace ioc_exporter::records
