// NameRegistry: one name for one running IOC at a time.
#pragma once

#include <map>
#include <string>

#include "iocs/ioc_id.h"

namespace ioc_exporter::iocs {

class NameRegistry {
 public:
  // `name`, or "name-PID" while another holds it. Who holds a name keeps it until release().
  std::string take(const std::string& name, const IocId& id);
  void release(const std::string& unique_name) { holders_.erase(unique_name); }

 private:
  std::map<std::string, IocId> holders_;
};

}  // namespace ioc_exporter::iocs
