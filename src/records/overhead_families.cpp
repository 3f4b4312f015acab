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

Families overhead_families(const std::vector<const IocSample*>& iocs,
                           const std::optional<HitCostSample>& hit_cost) {
  Families families;
  if (hit_cost) add_hit_cost(*hit_cost, families);
  exposition::FamilyBuilder overhead(
      prometheus::MetricType::Counter, "ioc_exporter_ioc_overhead_seconds_total",
      "Time that the record probes took from the IOC's threads: hits by what a hit costs.",
      Merge::lower);
  auto sampling =
      overhead_gauge("ioc_exporter_record_sampling_ratio",
                     "Fraction of time that the IOC's record probes are attached: below 1, what "
                     "is said of its records is an estimate; 0, nothing is counted.");
  auto timed = overhead_gauge("epics_ioc_timed_ratio",
                              "Fraction of the IOC's processings that are timed, about: below 1, "
                              "each stands for several in durations; 0, none is timed.");
  for (const IocSample* ioc : iocs) {
    if (!ioc->up || !ioc->overhead) continue;
    timed.add({{"ioc", ioc->name}}, ioc->overhead->timed_share);
    if (ioc->overhead->seconds) overhead.add({{"ioc", ioc->name}}, *ioc->overhead->seconds);
    sampling.add({{"ioc", ioc->name}}, ioc->overhead->attached_share);
  }
  overhead.append_to(families);
  sampling.append_to(families);
  timed.append_to(families);
  auto attached = overhead_gauge("ioc_exporter_ioc_records_attached",
                                 "Whether the records of the running IOC are counted.");
  for (const IocSample* ioc : iocs)
    if (ioc->up && ioc->base) attached.add({{"ioc", ioc->name}}, ioc->records_attached ? 1 : 0);
  attached.append_to(families);
  return families;
}

}  // namespace ioc_exporter::records
