#include "app/options.h"

namespace ioc_exporter::app {
namespace {

using exposition::EdgeStep;

OptionValue limits(exposition::Limits& into) {
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

void add_options(OptionTable& table, Options& options) {
  table.add(
      "Configuration",
      {{.flag = "config.file",
        .argument = "FILE",
        .help = "Site's YAML file (docs/configuration.md); flags override it",
        .value = text(options.config_file)},
       {.flag = "set",
        .argument = "KEY=VALUE",
        .help = "Set a key of the file, such as putlog.file_size=1GiB (repeatable; keys: "
                "docs/configuration.md)",
        .value = {.takes = OptionValue::Takes::lines,
                  .set = [](const std::string&, bool) { return Result<void>(); }}},
       {.flag = "config.check",
        .help = "Check the file, print its problems and exit (1: there are some)",
        .value = on_off(options.config_check)},
       {.argument = "TEXT",
        .key = "site.area",
        .help =
            "Part of the site that this host belongs to: label of epics_host_info and of alerts",
        .value = text(options.area)},
       {.argument = "TEXT",
        .key = "site.owner",
        .help = "Receiver of its alerts: the same",
        .value = text(options.owner)}});
  table.add("Series",
            {{.flag = "limit",
              .argument = "KIND=N",
              .help = "Series of a kind, such as puts=5000 or puts.per_client=500 (repeatable); "
                      "the rest is summed",
              .value = limits(options.limits)},
             {.flag = "histogram.factor",
              .argument = "N",
              .help = "Factor between bucket edges in the text formats: 2, 4 or 16",
              .value = one_of<EdgeStep>(
                  options.histogram_factor,
                  {{"2", EdgeStep::by_2}, {"4", EdgeStep::by_4}, {"16", EdgeStep::by_16}})}});
  table.add("Security", {{.flag = "security.user",
                          .argument = "USER",
                          .help = "User to run as after the start; default: ioc_exporter if it "
                                  "exists, else an unused id; root: stay root",
                          .value = text(options.privileges.user)},
                         {.flag = "security.capabilities",
                          .argument = "LIST",
                          .help = "Capabilities to keep, or none, or all (docs/security.md)",
                          .value = capabilities(options.privileges)},
                         {.flag = "security.sandbox",
                          .help = "Filter the exporter's own system calls",
                          .value = on_off(options.sandbox)}});
  table.add(
      "Modes",
      {{.flag = "once",
        .argument = "DURATION",
        .help = "Attach, count for this time, print one scrape and exit",
        .value = duration(options.once)},
       {.flag = "check",
        .help = "Load and attach everything, print what works and exit (1: something is missing)",
        .value = on_off(options.check)},
       {.flag = "strict",
        .help = "A probe that cannot be loaded is fatal",
        .value = on_off(options.strict)}});
  table.add(
      "Other",
      {{.flag = "log.level",
        .argument = "LEVEL",
        .help = "debug, info, warn or error",
        .value = log_level(options.log_level)},
       {.flag = "log.format",
        .argument = "FORMAT",
        .help = "logfmt or json",
        .value = log_format(options.log_format)},
       {.flag = "version", .help = "Print the version and exit", .value = print_and_exit()},
       {.flag = "help", .help = "Print this and exit", .value = print_and_exit(), .letter = "h"},
       {.flag = "help-man", .help = "Print the manual page and exit", .value = print_and_exit()},
       {.flag = "completion-script-bash",
        .help = "Print the completion for bash and exit",
        .value = print_and_exit()}});
}

}  // namespace

OptionTable option_table(Options& options) {
  OptionTable table({"Web", "Configuration", "IOCs", "Collectors", "Records", "Series",
                     "Channel Access", "Put log", "Traces", "Security", "Modes", "Other"});
  web::add_options(table, options.web);
  iocs::add_options(table, options.iocs);
  records::add_options(table, options.records);
  ca::add_options(table, options.ca);
  putlog::add_options(table, options.putlog);
  traces::add_options(table, options.traces);
  traces::add_memory_options(table, options.trace_memory);
  traces::add_outlet_options(table, options.trace_outlets);
  add_options(table, options);
  return table;
}

}  // namespace ioc_exporter::app
