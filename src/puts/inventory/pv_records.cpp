#include "puts/inventory/pv_records.h"

#include <unordered_map>

#include "iocs/memory/record_names.h"

namespace ioc_exporter::puts {

std::vector<PvSample> PvRecords::resolve(const std::vector<IocFacts>& iocs,
                                         const std::vector<PutSample>& puts) {
  std::unordered_map<std::string_view, std::shared_ptr<const Database>> databases;
  for (const IocFacts& ioc : iocs)
    if (ioc.up && ioc.database) databases[ioc.name] = ioc.database;
  std::erase_if(names_, [&databases](const auto& entry) {
    const auto now = databases.find(entry.first);
    return now == databases.end() || now->second != entry.second.database();
  });
  std::erase_if(lacking_, [&databases](const auto& one) { return !databases.contains(one.first); });

  std::vector<PvSample> pvs;
  const PutSample* before = nullptr;
  for (const PutSample& put : puts) {
    const bool same = before != nullptr && before->pv == put.pv && before->ioc == put.ioc;
    before = &put;
    const auto database = databases.find(put.ioc);
    if (same || put.pv.empty() || database == databases.end()) continue;
    const auto names = names_.try_emplace(put.ioc, database->second).first;
    const iocs::PvName name = iocs::parse_pv_name(put.pv);
    const RecordIdentity* record = names->second.find(name.record);
    if (record == nullptr && lacking_.emplace(put.ioc, name.record).second)
      outdated_.insert(put.ioc);
    if (record != nullptr && record->name != name.record)
      pvs.push_back({put.ioc, put.pv, record->name, std::string(name.field)});
  }
  return pvs;
}

}  // namespace ioc_exporter::puts
