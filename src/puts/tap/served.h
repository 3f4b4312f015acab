// A running server of Channel Access, as this room sees it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "iocs/ioc.h"

namespace ioc_exporter::ca {

struct Served {
  std::uint32_t number = 0;  // iocs::LiveIoc::number
  const iocs::Ioc* ioc = nullptr;
  std::optional<std::uint16_t> ca_port;  // of its CA server, once it is known
};

// Why nobody counts puts to the server; `why`: it has no probes, "" = not known.
std::string why_not_counted(const iocs::Ioc& ioc, std::string why);

}  // namespace ioc_exporter::ca
