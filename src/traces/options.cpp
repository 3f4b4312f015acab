#include "traces/options.h"

#include <string>
#include <vector>

#include "traces/causes.h"

namespace ioc_exporter::traces {
namespace {

OptionValue causes(std::uint32_t& into) {
  OptionValue option;
  option.takes = OptionValue::Takes::several;
  option.choices = cause_names();
  option.set = [&into, choices = option.choices](const std::string& word,
                                                 bool first) -> Result<void> {
    const auto cause = cause_number(word);
    if (!cause) return none_of(word, choices);
    into = (first ? 0 : into) | 1u << *cause;
    return {};
  };
  return option;
}

}  // namespace

void add_options(OptionTable& table, Options& options) {
  table.add("Collectors", {{.flag = "collector.traces",
                            .key = "collector.traces",
                            .help = "Trace what puts and scans set in motion, record by record",
                            .value = on_off(options.enabled)}});
  table.add(
      "Traces",
      {{.flag = "traces.rate",
        .argument = "N",
        .key = "traces.rate",
        .help = "Traces a second of each IOC, 0.1 for one in ten seconds; 0: none but those that "
                "the other options choose, or that somebody asks for",
        .value = number(options.rate, 0, 100'000)},
       {.argument = "DURATION",
        .key = "traces.slower",
        .help = "Besides, all chains of records that take so long; 0: none for that",
        .value = duration(options.slower)},
       {.key = "traces.alarms",
        .help = "Besides, all chains in which a record goes into alarm, or to a higher severity",
        .value = on_off(options.alarms)},
       {.key = "traces.active",
        .help = "Besides, all chains that meet a record which is active already",
        .value = on_off(options.active)},
       {.argument = "RE",
        .key = "traces.records",
        .help = "Only chains in which a record processes whose whole name this expression (RE2) "
                "matches",
        .value = pattern(options.records)},
       {.argument = "CAUSE",
        .key = "traces.causes",
        .help = "Only chains that this begins (repeatable)",
        .value = causes(options.causes)},
       {.argument = "MIB",
        .key = "traces.buffer",
        .help = "Memory for chains that the kernel has seen and the exporter not yet read, in MiB; "
                "what has no room is counted as lost",
        .value = one_of<std::uint32_t>(
            options.buffer_mib,
            {{"1", 1}, {"2", 2}, {"4", 4}, {"8", 8}, {"16", 16}, {"32", 32}, {"64", 64}})}});
}

}  // namespace ioc_exporter::traces
