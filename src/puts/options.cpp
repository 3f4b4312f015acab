#include "puts/options.h"

namespace ioc_exporter::puts {

void add_options(OptionTable& table, Options& options) {
  table.add("Collectors",
            {{"--collector.puts", "Count puts", on_off(options.enabled)},
             {"--collector.searches collector.searches",
              "Count searches for names by UDP, and beacons, of Channel Access",
              on_off(options.searches)},
             {"--server-probe", "Count puts by probes on EPICS Base's servers; without, by packets",
              on_off(options.server_probe)}});
  table.add(
      "Series",
      {{"pvs.include=RE", "Only puts to PVs whose whole name this expression (RE2) matches",
        pattern(options.pvs.include)},
       {"pvs.exclude=RE", "No puts to PVs whose whole name this expression (RE2) matches",
        pattern(options.pvs.exclude)},
       {"pvs.expire=DURATION", "How long a client's puts to a PV are shown after the last one",
        duration(options.put_expiry, std::chrono::minutes(1))}});
  table.add(
      "Channel Access",
      {{"--ca.server-port=LIST", "TCP ports of CA servers that are watched from the start",
        whole_numbers(options.server_ports, 1)},
       {"--pva.server-port=LIST", "TCP ports of PVA servers that are no IOCs, beside 5075",
        whole_numbers(options.pva_ports, 1)},
       {"--ca.remote-servers", "Count puts of this host's clients to CA servers elsewhere, too",
        on_off(options.remote_servers)},
       {"--ca.max-channels=N", "Channels of all clients (about 800 bytes each)",
        whole_number(options.max_channels, 1024, 4'194'304)},
       {"--ca.max-circuits=N", "TCP connections of clients (about 1 KiB each)",
        whole_number(options.max_circuits, 1024, 4'194'304)}});
}

}  // namespace ioc_exporter::puts
