#include "iocs/options.h"

#include <utility>

namespace ioc_exporter::iocs {
namespace {

OptionValue name_sources(std::vector<NameSource>& into) {
  OptionValue value;
  value.takes = OptionValue::Takes::several;
  for (const NameSource& source : into)
    value.default_text.append(value.default_text.empty() ? "" : ",").append(source.text());
  value.set = [&into](const std::string& word, bool first) -> Result<void> {
    auto source = parse_name_source(word);
    if (!source) return source.error();
    if (first) into.clear();
    into.push_back(std::move(*source));
    return {};
  };
  return value;
}

}  // namespace

void add_options(OptionTable& table, Options& options) {
  table.add(
      "IOCs",
      {{.flag = "ioc.include",
        .argument = "RE",
        .key = "iocs.include",
        .help = "Only IOCs whose whole name this expression (RE2) matches",
        .value = pattern(options.filter.include),
        .taken_back_by = "ioc.exclude"},
       {.flag = "ioc.exclude",
        .argument = "RE",
        .key = "iocs.exclude",
        .help = "No IOCs whose whole name this expression (RE2) matches",
        .value = pattern(options.filter.exclude),
        .taken_back_by = "ioc.include"},
       {.flag = "ioc.name-source",
        .argument = "LIST",
        .key = "iocs.name_sources",
        .help = "Where an IOC's name comes from, the first that says something: env:VARIABLE, "
                "script, exe",
        .value = name_sources(options.name_sources)},
       {.flag = "ioc.keep-gone",
        .argument = "DURATION",
        .help = "How long an IOC that is gone stays on /metrics as epics_ioc_up 0",
        .value = duration(options.keep_gone)},
       {.flag = "ioc.users",
        .argument = "LIST",
        .key = "iocs.users",
        .help = "Users, by name or number, whose IOCs go first, as root's do: what there is little "
                "of they take from others, who have a small share of it together; without: each "
                "user has a fair share",
        .value = texts(options.users)},
       {.flag = "discovery.interval",
        .argument = "DURATION",
        .help = "How often to look for IOCs",
        .value = duration(options.interval, std::chrono::milliseconds(100))}});
}

}  // namespace ioc_exporter::iocs
