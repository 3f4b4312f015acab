// A running server of Channel Access, as this room sees it.
#pragma once

#include <cstdint>
#include <optional>

#include "iocs/ioc.h"

namespace ioc_exporter::ca {

struct Served {
  std::uint32_t number = 0;  // iocs::LiveIoc::number
  const iocs::Ioc* ioc = nullptr;
  std::optional<std::uint16_t> ca_port;  // of its CA server, once it is known
  // The tap's number of its network namespace; nothing: the tap does not look into it.
  std::optional<std::uint32_t> net = std::nullopt;
};

}  // namespace ioc_exporter::ca
