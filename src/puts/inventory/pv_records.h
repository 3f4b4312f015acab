// PvRecords: to which records of the IOCs the PVs lead that were written to.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "iocs/memory/record_names.h"
#include "puts/totals/samples.h"

namespace ioc_exporter::puts {

class PvRecords {
 public:
  // One for each PV of `puts` whose IOC is up and has such a record. `puts` is sorted by IOC and
  // PV. Keeps the sorted names of databases that were asked for, until their IOC has another, or is
  // gone from `iocs`.
  std::vector<PvSample> resolve(const std::vector<IocFacts>& iocs,
                                const std::vector<PutSample>& puts);
  // IOCs whose databases lack a name that was written to for the first time: dbCreateAlias may have
  // made it. Since the last call.
  std::set<std::string> take_outdated() { return std::exchange(outdated_, {}); }

 private:
  std::map<std::string, iocs::RecordNames, std::less<>> names_;  // by IOC
  std::set<std::pair<std::string, std::string>> lacking_;        // IOC, name
  std::set<std::string> outdated_;
};

}  // namespace ioc_exporter::puts
