// Options of counting puts.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/option_table.h"
#include "base/pattern.h"
#include "puts/gateways.h"

namespace ioc_exporter::puts {

struct Options {
  bool enabled = true;
  std::vector<std::uint16_t> server_ports;  // of CA servers, whatever listens there
  std::vector<std::uint16_t> pva_ports;     // of PVA servers, beside 5075
  bool remote_servers = false;
  bool searches = false;     // count searches by UDP, and beacons
  bool server_probe = true;  // also for PV Access
  std::uint32_t max_channels = 131'072;
  std::uint32_t max_circuits = 65'536;
  GatewayList gateways;
  NameFilter pvs;  // that have series, by the name that the client used
  std::chrono::milliseconds put_expiry = std::chrono::hours(30 * 24);  // after the last put
};

// Its rows; they refer to `options`.
void add_options(OptionTable& table, Options& options);

}  // namespace ioc_exporter::puts
