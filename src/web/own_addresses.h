// Whether who asks is on this host.
#pragma once

#include <string>

namespace ioc_exporter::web {

// Whether an address, as Request::remote has it, is one of this host's: of the exporter's network
// namespace, loopback included. Where the kernel does not tell them, only loopback is.
bool is_own_address(const std::string& address);

}  // namespace ioc_exporter::web
