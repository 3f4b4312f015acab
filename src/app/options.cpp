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

// What parse_options() does itself.
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
        .help = "The site's YAML file (docs/configuration.md); flags stand above it",
        .value = text(options.config_file)},
       {.flag = "set",
        .argument = "KEY=VALUE",
        .help = "Set this key of the file, such as putlog.file_size=1GiB, whatever the file says "
                "(repeatable); docs/configuration.md has all keys",
        .value = {.takes = OptionValue::Takes::lines,
                  .set = [](const std::string&, bool) { return Result<void>(); }}},
       {.flag = "config.check",
        .help = "Check the file, say what is wrong with it and exit (1 when anything is)",
        .value = on_off(options.config_check)},
       {.argument = "TEXT",
        .key = "site.area",
        .help = "What part of the site this host belongs to: a label of epics_host_info, and so "
                "of alerts",
        .value = text(options.area)},
       {.argument = "TEXT",
        .key = "site.owner",
        .help = "Whom its alerts concern: the same",
        .value = text(options.owner)}});
  table.add("Series",
            {{.flag = "limit",
              .argument = "KIND=N",
              .help = "Series of their own that things of a kind may have, such as "
                      "puts=5000 or puts.per_client=500 (repeatable); what is above is "
                      "summed up",
              .value = limits(options.limits)},
             {.flag = "histogram.factor",
              .argument = "N",
              .help = "From one bucket's edge to the next in the text formats: 2, 4 or "
                      "16 (protobuf has all four to a power of two)",
              .value = one_of<EdgeStep>(
                  options.histogram_factor,
                  {{"2", EdgeStep::by_2}, {"4", EdgeStep::by_4}, {"16", EdgeStep::by_16}})}});
  table.add(
      "Security",
      {{.flag = "security.user",
        .argument = "USER",
        .help = "Whom to become once all is opened, when started as root; root: stay it. Where "
                "nothing is said: ioc_exporter if there is such a user, else an id that nobody has",
        .value = text(options.privileges.user)},
       {.flag = "security.capabilities",
        .argument = "LIST",
        .help = "Capabilities to keep, or none, or all: see docs/security.md",
        .value = capabilities(options.privileges)},
       {.flag = "security.sandbox",
        .help = "Refuse itself the system calls that it does not need",
        .value = on_off(options.sandbox)}});
  table.add("Modes",
            {{.flag = "once",
              .argument = "DURATION",
              .help = "Count for so long, print one scrape and exit",
              .value = duration(options.once)},
             {.flag = "check",
              .help = "Load and attach everything, print what works and exit (1 when something is "
                      "missing)",
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
