#include "records/options.h"

namespace ioc_exporter::records {

void add_options(OptionTable& table, Options& options) {
  table.add("Collectors",
            {{"--collector.records", "Count and time what records do", on_off(options.enabled)}});
  table.add(
      "Records",
      {{"--records.max-threads=N", "Threads that process records, over all IOCs (3 KiB each)",
        whole_number(options.max_threads, 16, 1'000'000)},
       {"--records.durations", "Time processings, by breakpoints where dbProcess ends",
        on_off(options.durations)},
       {"--records.causes", "Count each record's processings by cause", on_off(options.causes)},
       {"--records.puts", "Count writes to records by source", on_off(options.puts)},
       {"--records.stuck-after=DURATION", "A record that is active (PACT) for longer is stuck",
        duration(options.stuck_after)},
       {"--overhead.target=PERCENT",
        "Percent of a core that timing may add for each IOC to what counting costs; above it 1 "
        "second in 16 or 64 is timed; 0: no bound",
        number(options.overhead_target, 0, 1000)},
       {"--overhead.budget=PERCENT",
        "Percent of a core that probes of records and functions may cost each IOC; above it timing "
        "goes, then functions, writes and scan lists, counting; 0: no bound",
        number(options.overhead_budget, 0, 1000)},
       {"--limit.kernel-memory=SIZE",
        "Kernel memory for counts of records, such as 512MiB; 0: a sixteenth of the host's, 64MiB "
        "to 2GiB",
        bytes(options.kernel_memory)}});
  table.add("Series",
            {{"records.include=RE", "Only records whose whole name this expression (RE2) matches",
              pattern(options.shown.include)},
             {"records.exclude=RE", "No records whose whole name this expression (RE2) matches",
              pattern(options.shown.exclude)}});
}

}  // namespace ioc_exporter::records
