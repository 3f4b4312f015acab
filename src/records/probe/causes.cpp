#include "records/probe/causes.h"

#include <utility>

#include "records/families/samples_by_record.h"

namespace ioc_exporter::records {

Result<RecordCauses> RecordCauses::read(const RecordProcess& records) {
  auto counts = records.counts();
  if (!counts) return std::move(counts).error();
  auto causes = records.causes();
  if (!causes) return std::move(causes).error();
  auto links = records.links();
  if (!links) return std::move(links).error();
  RecordCauses all;
  all.counts_ = std::move(*counts);
  all.causes_ = std::move(*causes);
  all.links_ = std::move(*links);
  return all;
}

double RecordCauses::seconds(std::uint32_t slot, const HitCost& cost) const {
  const auto counts = counts_.find(slot);
  return counts == counts_.end() ? 0 : cost_of(counts->second.hits, cost);
}

void RecordCauses::add_to(std::uint32_t slot, IocSample& sample) const {
  if (const auto counts = counts_.find(slot); counts != counts_.end())
    sample.processing =
        ProcessingSample{counts->second.causes, counts->second.timed, counts->second.transitions};
  const Database& database = *sample.database;
  if (const auto causes = causes_.find(slot); causes != causes_.end())
    for (const RawCause& raw : causes->second)
      sample.record_causes.push_back({record_index(database, raw.address), raw.cause, raw.count});
  if (const auto links = links_.find(slot); links != links_.end())
    for (const RawLink& raw : links->second)
      sample.links.push_back(
          {record_index(database, raw.source), record_index(database, raw.address), raw.count});
}

}  // namespace ioc_exporter::records
