#include "pva/options.h"

namespace ioc_exporter::pva {

void add_options(OptionTable& table, Options& options) {
  table.add("PV Access",
            {{.flag = "pva.witness",
              .help = "Count PV Access puts where QSRV takes them, by probes on it; without, they "
                      "are not counted by client",
              .value = on_off(options.witness)}});
}

}  // namespace ioc_exporter::pva
