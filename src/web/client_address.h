// Addresses of clients, as civetweb writes them.
#pragma once

#include <string>

namespace ioc_exporter::web {

// The same address without "::ffff:", which a socket of both families puts before an IPv4 one.
std::string plain_address(std::string text);

// Whether an address, as Request::remote has it, is one of this host's: of the exporter's network
// namespace, loopback included. Where the kernel does not say, only loopback is.
bool is_own_address(const std::string& address);

}  // namespace ioc_exporter::web
