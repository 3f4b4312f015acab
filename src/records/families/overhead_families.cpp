#include "records/families/overhead_families.h"

#include "exposition/family_builder.h"
#include "iocs/families.h"

namespace ioc_exporter::records {
namespace {

using Families = std::vector<prometheus::MetricFamily>;
using Merge = exposition::FamilyBuilder::Merge;

exposition::FamilyBuilder overhead_gauge(std::string name, std::string help) {
  return {prometheus::MetricType::Gauge, std::move(name), std::move(help), Merge::lower};
}

}  // namespace

Families overhead_families(const std::vector<const IocSample*>& iocs,
                           const std::optional<double>& empty_probe) {
  Families families;
  if (empty_probe)
    overhead_gauge("ioc_exporter_probe_hit_seconds",
                   "Time that an empty probe takes on this machine, measured at start.")
        .add({}, *empty_probe)
        .append_to(families);
  exposition::FamilyBuilder overhead(
      prometheus::MetricType::Counter, "ioc_exporter_ioc_overhead_seconds_total",
      "Time that the record probes took from the IOC's threads: hits by what a hit costs.",
      Merge::lower);
  auto timed = overhead_gauge("epics_ioc_timed_ratio",
                              "Fraction of the IOC's processings that are timed: below 1, each "
                              "stands for several in durations; 0, none is timed.");
  for (const IocSample* ioc : iocs) {
    if (!ioc->up || !ioc->overhead) continue;
    if (!ioc->overhead->over_budget) timed.add({{"ioc", ioc->name}}, ioc->overhead->timed_share);
    if (ioc->overhead->seconds) overhead.add({{"ioc", ioc->name}}, *ioc->overhead->seconds);
  }
  overhead.append_to(families);
  timed.append_to(families);
  auto watched = overhead_gauge("epics_ioc_records_watched",
                                "Whether the records of the running IOC are counted; where not, "
                                "the page at / says why.");
  for (const IocSample* ioc : iocs)
    if (ioc->up && ioc->base) watched.add({{"ioc", ioc->name}}, ioc->records_watched ? 1 : 0);
  watched.append_to(families);
  return families;
}

}  // namespace ioc_exporter::records
