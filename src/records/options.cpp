#include "records/options.h"

namespace ioc_exporter::records {

void add_options(OptionTable& table, Options& options) {
  table.add("Collectors", {{.flag = "collector.records",
                            .help = "Count and time what records do",
                            .value = on_off(options.enabled)}});
  table.add("Records", {{.flag = "records.max-threads",
                         .argument = "N",
                         .help = "Threads that process records, over all IOCs (3 KiB each)",
                         .value = whole_number(options.max_threads, 16, 1'000'000)},
                        {.flag = "records.durations",
                         .help = "Time processings, by breakpoints where dbProcess ends",
                         .value = on_off(options.durations)},
                        {.flag = "records.causes",
                         .help = "Count each record's processings by cause",
                         .value = on_off(options.causes)},
                        {.flag = "records.links",
                         .argument = "N",
                         .help = "Links between records to count; 0: none",
                         .value = whole_number(options.links, 0, 1'000'000)},
                        {.flag = "records.puts",
                         .help = "Count writes to records by source",
                         .value = on_off(options.puts)},
                        {.flag = "records.stuck-after",
                         .argument = "DURATION",
                         .help = "A record that is active (PACT) for longer is stuck",
                         .value = duration(options.stuck_after)},
                        {.flag = "overhead.target",
                         .argument = "PERCENT",
                         .help = "Percent of a core that probes may cost each IOC while all "
                                 "processings are timed; above it one in n is timed; 0: none",
                         .value = number(options.overhead_target, 0, 1000)},
                        {.flag = "overhead.budget",
                         .argument = "PERCENT",
                         .help = "Percent of a core that counting may cost each IOC; above it its "
                                 "records are not counted; 0: no bound",
                         .value = number(options.overhead_budget, 0, 1000)},
                        {.flag = "limit.kernel-memory",
                         .argument = "SIZE",
                         .help = "Kernel memory for counts of records, such as 512MiB; 0: a "
                                 "sixteenth of the host's, 64MiB to 2GiB",
                         .value = bytes(options.kernel_memory)}});
  table.add("Series", {{.argument = "RE",
                        .key = "records.include",
                        .help = "Only records whose whole name this expression (RE2) matches",
                        .value = pattern(options.shown.include)},
                       {.argument = "RE",
                        .key = "records.exclude",
                        .help = "No records whose whole name this expression (RE2) matches",
                        .value = pattern(options.shown.exclude)}});
}

}  // namespace ioc_exporter::records
