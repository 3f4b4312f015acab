#include "iocs/name_registry.h"

namespace ioc_exporter::iocs {

std::string NameRegistry::take(const std::string& name, const IocId& id) {
  std::string unique = name;
  // More than one round only when an IOC calls itself what would be another one's "name-PID".
  while (!holders_.emplace(unique, id).second) unique.append(1, '-').append(std::to_string(id.pid));
  return unique;
}

}  // namespace ioc_exporter::iocs
