#include "puts/tap/served.h"

namespace ioc_exporter::ca {

std::string why_not_counted(const iocs::Ioc& ioc, std::string why) {
  if (ioc.own_net_namespace) return why;
  const bool is_base = ioc.kind == iocs::IocKind::base;
  return "it is in another network namespace, where packets are not read, and its server is " +
         (is_base ? "not probed" + (why.empty() ? why : ": " + why) : "not that of EPICS Base");
}

}  // namespace ioc_exporter::ca
