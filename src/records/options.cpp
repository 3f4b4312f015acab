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
        .argument = "HOW",
        .help =
            "Time processings: auto, by breakpoints where dbProcess ends, which no IOC notices; "
            "on, by return probes, which abort an IOC when a C++ exception, "
            "pthread_exit or pthread_cancel leaves dbProcess; or off",
        .value = one_of<Durations>(options.durations, {{"auto", Durations::by_ends},
                                                       {"on", Durations::by_returns},
                                                       {"off", Durations::off}})},
       {.flag = "records.timed-rate",
        .argument = "N",
        .help =
            "With --records.durations=on: processings of one record a second that are timed; of a "
            "busier one, one in n is timed and counts n times (all are counted; needs Linux "
            "6.13); 0: time all",
        .value = whole_number(options.timed_rate, 0, 1'000'000)},
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
        .help = "Percent of one core that the probes cost each IOC while all processings are "
                "timed; above it, one in up to 10 is timed and counts for the others (all are "
                "counted); 0: none",
        .value = number(options.overhead_target, 0, 1000)},
       {.flag = "overhead.budget",
        .argument = "PERCENT",
        .help = "Percent of one core that the probes may cost each IOC; above it, still fewer "
                "processings are timed, and where that does not suffice, the IOC is looked at in "
                "slices of time and its counts are estimates; 0: no bound",
        .value = number(options.overhead_budget, 0, 1000)},
       {.flag = "limit.kernel-memory",
        .argument = "SIZE",
        .help = "Kernel memory that the counts of all IOCs' records may take, such as 512MiB; what "
                "is above is not counted; 0: a sixteenth of the host's memory, 64MiB to 2GiB",
        .value = bytes(options.kernel_memory)}});
  table.add("Series", {{.flag = "records.include",
                        .argument = "RE",
                        .key = "records.include",
                        .help = "Only records whose whole name this expression (RE2) matches",
                        .value = pattern(options.shown.include)},
                       {.flag = "records.exclude",
                        .argument = "RE",
                        .key = "records.exclude",
                        .help = "No records whose whole name this expression (RE2) matches",
                        .value = pattern(options.shown.exclude)}});
}

}  // namespace ioc_exporter::records
