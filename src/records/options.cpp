#include "records/options.h"

namespace ioc_exporter::records {

void add_options(OptionTable& table, Options& options) {
  table.add("Collectors", {{.flag = "collector.records",
                            .help = "Count and time what records do",
                            .value = on_off(options.enabled)}});
  table.add(
      "Records",
      {{.flag = "records.max-threads",
        .argument = "N",
        .help = "Threads that may process records at a time, over all IOCs (3 KiB each)",
        .value = whole_number(options.max_threads, 16, 1'000'000)},
       {.flag = "records.durations",
        .help = "Time processings, by breakpoints where dbProcess ends",
        .value = on_off(options.durations)},
       {.flag = "records.causes",
        .help = "Count each record's processings by their cause, too",
        .value = on_off(options.causes)},
       {.flag = "records.links",
        .argument = "N",
        .help = "Links from record to record that are counted; 0: none",
        .value = whole_number(options.links, 0, 1'000'000)},
       {.flag = "records.puts",
        .help = "Count the writes to records by their source",
        .value = on_off(options.puts)},
       {.flag = "records.stuck-after",
        .argument = "DURATION",
        .help = "A record that is active (PACT) for longer is called stuck",
        .value = duration(options.stuck_after)},
       {.flag = "overhead.target",
        .argument = "PERCENT",
        .help = "Percent of one core that the record probes may cost each IOC while processings "
                "are timed; above it one in n is timed and counts for n, or none is (all are "
                "counted); 0: none",
        .value = number(options.overhead_target, 0, 1000)},
       {.flag = "overhead.budget",
        .argument = "PERCENT",
        .help = "Percent of one core that counting may cost each IOC; above it its records are not "
                "counted, and have no series, until the load has fallen; 0: no bound",
        .value = number(options.overhead_budget, 0, 1000)},
       {.flag = "limit.kernel-memory",
        .argument = "SIZE",
        .help = "Kernel memory that the counts of all IOCs' records may take, such as 512MiB; what "
                "is above is not counted; 0: a sixteenth of the host's memory, 64MiB to 2GiB",
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
