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
  table.add("Collectors", {{"--collector.traces collector.traces",
                            "Trace chains of records that puts, scans and callbacks start",
                            on_off(options.enabled)}});
  table.add(
      "Traces",
      {{"--traces.rate=N traces.rate",
        "Traces per second of each IOC, such as 0.1, by lot; 0: only those that other options or "
        "commands choose",
        number(options.rate, 0, 100'000)},
       {"traces.slower=DURATION", "Also chains that take this long or longer; 0: none",
        duration(options.slower)},
       {"traces.alarms", "Also chains in which a record's severity rises", on_off(options.alarms)},
       {"traces.active", "Also chains that meet an active record (PACT)", on_off(options.active)},
       {"traces.records=RE",
        "Only chains in which a record whose whole name matches (RE2) processes",
        pattern(options.records)},
       {"traces.causes=CAUSE", "Only chains with this cause (repeatable)", causes(options.causes)},
       {"traces.buffer=MIB",
        "Ring from the kernel to the exporter, MiB; chains without room are counted as lost",
        one_of<std::uint32_t>(
            options.buffer_mib,
            {{"1", 1}, {"2", 2}, {"4", 4}, {"8", 8}, {"16", 16}, {"32", 32}, {"64", 64}})}});
}

}  // namespace ioc_exporter::traces
