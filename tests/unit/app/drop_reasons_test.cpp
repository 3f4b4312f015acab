// docs/drops.md says of each reason for a drop what is lost and what to do.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <span>
#include <string>

#include "shared/ca_udp.h"
#include "shared/record_process.h"
#include "shared/server_probe.h"
#include "shared/traces.h"

namespace ioc_exporter::app {
namespace {

// Reasons "| `reason` | ..." below each heading "### probe".
std::map<std::string, std::set<std::string>> documented() {
  std::map<std::string, std::set<std::string>> reasons;
  std::string line, probe;
  for (std::ifstream file(IOC_EXPORTER_DROPS); std::getline(file, line);) {
    if (line.starts_with("#")) probe = line.substr(line.find_last_of('#') + 2);
    if (line.starts_with("| `")) reasons[probe].insert(line.substr(3, line.find('`', 3) - 3));
  }
  return reasons;
}

void expect_documented(const std::string& probe, std::span<const char* const> reasons) {
  const std::set<std::string> known = documented()[probe];
  for (const char* reason : reasons) EXPECT_TRUE(known.contains(reason)) << probe << " " << reason;
}

TEST(DropReasons, AreDocumented) {
  expect_documented("record_process", iocx_record_drop_labels);
  expect_documented("record_process", iocx_put_drop_labels);
  expect_documented("ca_tap", iocx_ca_drop_labels);
  expect_documented("ca_udp", iocx_ca_udp_drop_labels);
  expect_documented("ca_server_probe", iocx_ca_server_drop_labels);
  expect_documented("pva_server_probe", iocx_pva_drop_labels);
  expect_documented("traces", iocx_trace_drop_labels);
}

}  // namespace
}  // namespace ioc_exporter::app
