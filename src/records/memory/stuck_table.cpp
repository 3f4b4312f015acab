#include "records/memory/stuck_table.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/time_text.h"

namespace ioc_exporter::records {

exposition::StatusTable stuck_table(const std::vector<IocSample>& iocs) {
  exposition::StatusTable table;
  table.title = "Stuck records";
  table.note = "Records that are active (PACT) for longer than --records.stuck-after.";
  table.columns = {
      {"IOC", false}, {"record", false}, {"type", false}, {"active for at least", true}};
  std::uint64_t stuck = 0;
  std::vector<std::pair<const IocSample*, const ActiveRecord*>> longest;
  for (const IocSample& ioc : iocs) {
    if (!ioc.up || !ioc.database || !ioc.memory || !ioc.memory->records) continue;
    stuck += ioc.memory->records->stuck;
    for (const ActiveRecord& record : ioc.memory->records->longest_stuck)
      if (record.record < ioc.database->records.size()) longest.emplace_back(&ioc, &record);
  }
  std::ranges::stable_sort(longest, std::greater<>(),
                           [](const auto& entry) { return entry.second->seconds; });
  for (const auto& [ioc, active] : longest) {
    if (table.rows.size() == kStuckShown) break;
    const RecordIdentity& record = ioc->database->records[active->record];
    table.rows.push_back({ioc->name, record.name,
                          record.type < ioc->database->types.size()
                              ? ioc->database->types[record.type]
                              : std::string(),
                          span_text(active->seconds)});
  }
  if (stuck > table.rows.size())
    table.rest = "And " + std::to_string(stuck - table.rows.size()) +
                 " more: epics_ioc_records_stuck on the page of the metrics counts them.";
  return table;
}

}  // namespace ioc_exporter::records
