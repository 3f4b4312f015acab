// What an operator may set about counting Channel Access puts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ioc_exporter::ca {

struct Options {
  bool enabled = true;
  std::vector<std::uint16_t> server_ports;  // of CA servers, whatever listens there
  bool remote_servers = false;
  std::uint32_t max_channels = 0;
  std::uint32_t max_circuits = 0;
  std::string pin_directory;    // "" = none
  bool pin_is_default = false;  // nobody asked for it: without a bpffs it is none
};

}  // namespace ioc_exporter::ca
