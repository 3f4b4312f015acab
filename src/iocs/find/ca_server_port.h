// The TCP port of the IOC's CA server, from its own memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "iocs/memory/memory.h"

namespace ioc_exporter::iocs {

// `candidates`: addresses of rsrv's ca_server_port (unsigned short in host order; 0 until the
// server was set up, which iocInit does). Nothing while all are 0. `subject` names the IOC in
// errors.
Result<std::optional<std::uint16_t>> read_ca_server_port(Memory& memory,
                                                         std::span<const std::uint64_t> candidates,
                                                         std::string_view subject);

}  // namespace ioc_exporter::iocs
