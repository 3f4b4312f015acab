#include "puts/options.h"

namespace ioc_exporter::ca {
namespace {

OptionValue pin(Options& options) {
  return {.default_text = options.pin_directory,
          .set = [&options](const std::string& word, bool) -> Result<void> {
            if (word != "none" && !word.starts_with('/'))
              return error_in_words(shown(word) + " is neither an absolute path nor none");
            options.pin_directory = word == "none" ? "" : word;
            options.pin_is_default = false;
            return {};
          }};
}

}  // namespace

void add_options(OptionTable& table, Options& options) {
  table.add("Collectors", {{.flag = "collector.puts",
                            .help = "Count Channel Access puts",
                            .value = on_off(options.enabled)},
                           {.flag = "server-probe",
                            .help = "Count puts by probes on EPICS Base's servers; without, "
                                    "Channel Access puts by packets, PV Access puts not",
                            .value = on_off(options.server_probe)}});
  table.add("Series", {{.argument = "RE",
                        .key = "pvs.include",
                        .help = "Only puts to PVs whose whole name this expression (RE2) matches",
                        .value = pattern(options.pvs.include)},
                       {.argument = "RE",
                        .key = "pvs.exclude",
                        .help = "No puts to PVs whose whole name this expression (RE2) matches",
                        .value = pattern(options.pvs.exclude)},
                       {.argument = "DURATION",
                        .key = "pvs.expire",
                        .help = "How long a client's puts to a PV are shown after the last one",
                        .value = duration(options.put_expiry, std::chrono::minutes(1))}});
  table.add("Channel Access",
            {{.flag = "ca.server-port",
              .argument = "LIST",
              .help = "TCP ports of CA servers that are watched from the start",
              .value = whole_numbers(options.server_ports, 1)},
             {.flag = "ca.remote-servers",
              .help = "Count puts of this host's clients to CA servers elsewhere, too",
              .value = on_off(options.remote_servers)},
             {.flag = "ca.max-channels",
              .argument = "N",
              .help = "Channels of all clients (about 800 bytes each)",
              .value = whole_number(options.max_channels, 1024, 4'194'304)},
             {.flag = "ca.max-circuits",
              .argument = "N",
              .help = "TCP connections of clients (about 1 KiB each)",
              .value = whole_number(options.max_circuits, 1024, 4'194'304)},
             {.flag = "state.pin",
              .argument = "DIR",
              .help = "bpffs folder where names of open channels outlive the exporter, or none",
              .value = pin(options)}});
}

}  // namespace ioc_exporter::ca
