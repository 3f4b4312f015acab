#include "app/options.h"

namespace ioc_exporter::app {
namespace {

using exposition::EdgeStep;
using exposition::SeriesSet;

OptionValue limits(exposition::SeriesLimits& into) {
  return {.takes = OptionValue::Takes::several,
          .set = [&into](const std::string& word, bool) { return set_limit(word, into); }};
}

// "none" or "all" alone, or capabilities.
Result<void> keep(const std::string& word, bool first, Privileges& into) {
  const bool stands_alone = word == "none" || word == "all";
  if (!first && (stands_alone || into.keep_all || into.capabilities.empty()))
    return error_in_words(shown(word) + ": all and none stand alone");
  if (first) into.capabilities.clear();
  into.keep_all = word == "all";
  if (stands_alone) return {};
  auto capability = parse_capabilities({word});
  if (!capability) return capability.error();
  into.capabilities.push_back(capability->front());
  return {};
}

OptionValue capabilities(Privileges& into) {
  return {.takes = OptionValue::Takes::several,
          .default_text = capabilities_text(into.capabilities),
          .set = [&into](const std::string& word, bool first) { return keep(word, first, into); }};
}

// Options that parse_options() handles itself.
OptionValue print_and_exit() {
  return {.takes = OptionValue::Takes::nothing,
          .set = [](const std::string&, bool) { return Result<void>(); }};
}

OptionValue log_level(std::string& into) {
  return one_of<std::string>(
      into, {{"debug", "debug"}, {"info", "info"}, {"warn", "warn"}, {"error", "error"}});
}

OptionValue log_format(LogFormat& into) {
  return one_of<LogFormat>(into, {{"logfmt", LogFormat::logfmt}, {"json", LogFormat::json}});
}

// Of 0.2.0; they leave with the release after the next.
std::vector<GoneOption> gone_options() {
  return {{"--putlog.store=DIR putlog.store",
           "--putlog.file, whose files ioc_exporter puts --since --file reads"},
          {"putlog.store_size=BYTES", "putlog.file_size and putlog.file_count"},
          {"putlog.store_age=DURATION", "putlog.file_age and putlog.file_count"},
          {"--records.links=N records.links", "--collector.traces, whose traces show chains"}};
}

void add_options(OptionTable& table, Options& options) {
  table.add(
      "Configuration",
      {{"--config.file=FILE",
        "Site's YAML file (docs/configuration.md); flags override it; default: ioc_exporter.yml "
        "in $CONFIGURATION_DIRECTORY, if it is there",
        text(options.config_file)},
       {"--set=KEY=VALUE",
        "Set a key of the file, such as putlog.file_size=1GiB (repeatable; keys: "
        "docs/config.example.yml)",
        {.takes = OptionValue::Takes::lines,
         .set = [](const std::string&, bool) { return Result<void>(); }}},
       {"--config.check", "Check the file, print its problems and exit (1: there are some)",
        on_off(options.config_check)},
       {"site.area=TEXT",
        "Part of the site that this host belongs to: label of epics_host_info and of alerts",
        text(options.area)},
       {"site.owner=TEXT", "Owner of this host: label of epics_host_info and of alerts",
        text(options.owner)}});
  table.add(
      "Series",
      {{"--series=SET series",
        "all, or site: counts by record and PV, durations by record type and IOC only "
        "(docs/scaling.md)",
        one_of<SeriesSet>(options.series, {{"all", SeriesSet::all}, {"site", SeriesSet::site}})},
       {"--limit=KIND=N",
        "Limit of series of a kind, such as puts=5000 or puts.per_client=500 (repeatable); "
        "the rest "
        "is summed",
        limits(options.limits)},
       {"--histogram.factor=N", "Factor between bucket edges in the text formats: 2, 4 or 16",
        one_of<EdgeStep>(
            options.histogram_factor,
            {{"2", EdgeStep::by_2}, {"4", EdgeStep::by_4}, {"16", EdgeStep::by_16}})}});
  table.add(
      "Security",
      {{"--security.user=USER",
        "User to run as after the start; default: ioc_exporter if it exists, else an unused id; "
        "root: stay root",
        text(options.privileges.user)},
       {"--security.capabilities=LIST", "Capabilities to keep, or none, or all (docs/security.md)",
        capabilities(options.privileges)},
       {"--security.sandbox", "Filter the exporter's own system calls", on_off(options.sandbox)}});
  table.add("Modes",
            {{"--once=DURATION", "Attach, count for this time, print one scrape and exit",
              duration(options.once)},
             {"--check",
              "Load and attach everything, print what works and exit (1: something is missing)",
              on_off(options.check)},
             {"--strict", "A probe that cannot be loaded is fatal", on_off(options.strict)}});
  table.add("Other",
            {{"--log.level=LEVEL", "debug, info, warn or error", log_level(options.log_level)},
             {"--log.format=FORMAT", "logfmt or json", log_format(options.log_format)},
             {"--version", "Print the version and exit", print_and_exit()},
             {"-h --help", "Print this and exit", print_and_exit()}});
}

}  // namespace

OptionTable option_table(Options& options) {
  OptionTable table({"Web", "Configuration", "IOCs", "Collectors", "Records", "Series",
                     "Channel Access", "Put log", "Traces", "Security", "Modes", "Other"});
  web::add_options(table, options.web);
  iocs::add_options(table, options.iocs);
  records::add_options(table, options.records);
  puts::add_options(table, options.ca);
  functions::add_options(table, options.functions);
  putlog::add_options(table, options.putlog);
  traces::add_options(table, options.traces);
  traces::add_outlet_options(table, options.trace_outlets);
  add_options(table, options);
  table.add_gone(gone_options(), options.gone);
  return table;
}

}  // namespace ioc_exporter::app
