#include "iocs/health/health.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ioc_exporter::iocs {
namespace {

TEST(ThreadClassOf, NamesOfBaseAndPvAccess) {
  const auto all_are = [](ThreadClass wanted, const std::vector<std::string>& names) {
    for (const std::string& name : names) EXPECT_EQ(thread_class_of(name), wanted) << name;
  };
  all_are(ThreadClass::scan, {"scan-0.1", "scan-10"});
  all_are(ThreadClass::callback, {"cbLow", "cbMedium", "cbHigh", "cbLow-0", "cbHigh-11"});
  all_are(ThreadClass::once, {"scanOnce"});
  all_are(ThreadClass::ca, {"CAS-client", "CAS-event", "CAS-TCP", "CAS-UDP", "CAS-beacon",
                            "CAC-TCP-recv", "CAC-UDP", "dbCaLink"});
  all_are(ThreadClass::pva, {"PVXTCP", "PVXUDP", "TCP-rx 127.0.0.", "TCP-acceptor", "UDP-rx"});
  all_are(ThreadClass::other, {"", "errlog", "taskwd", "save_restore", "scanner", "cb", "python"});
}

}  // namespace
}  // namespace ioc_exporter::iocs
