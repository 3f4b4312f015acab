#include "records/overhead_families.h"

#include "exposition/family_builder.h"
#include "iocs/families.h"

namespace ioc_exporter::records {
namespace {

using Families = std::vector<prometheus::MetricFamily>;
using Merge = exposition::FamilyBuilder::Merge;

exposition::FamilyBuilder overhead_gauge(std::string name, std::string help) {
  return {prometheus::MetricType::Gauge, std::move(name), std::move(help), Merge::lower};
}

void add_hit_cost(const HitCostSample& cost, Families& to) {
  overhead_gauge("ioc_exporter_probe_hit_seconds",
        "Time that one hit of a record probe takes on this machine, measured at start.")
      .add({{"kind", "entry"}}, cost.entry_seconds)
      .add({{"kind", "return"}}, cost.return_seconds)
      .append_to(to);
}

}  // namespace

Families overhead_families(const Snapshot& snapshot) {
  Families families;
  overhead_gauge("ioc_exporter_detached", "Whether all probes were taken off by SIGUSR1 or POST /-/detach.")
      .add({}, snapshot.detached ? 1 : 0)
      .append_to(families);
  if (snapshot.hit_cost) add_hit_cost(*snapshot.hit_cost, families);
  auto overhead = overhead_gauge("ioc_exporter_ioc_overhead_ratio",
                        "Fraction of one core that the record probes cost the IOC.");
  auto sampling = overhead_gauge("ioc_exporter_record_sampling_ratio",
                        "Fraction of time that the IOC's record probes are attached: below 1, what "
                        "is said of its records is an estimate; 0, nothing is counted.");
  for (const IocSample* ioc : iocs::distinct_iocs(snapshot)) {
    if (!ioc->up || !ioc->overhead) continue;
    overhead.add({{"ioc", ioc->name}}, ioc->overhead->core_share);
    sampling.add({{"ioc", ioc->name}}, ioc->overhead->attached_share);
  }
  overhead.append_to(families);
  sampling.append_to(families);
  return families;
}

}  // namespace ioc_exporter::records
