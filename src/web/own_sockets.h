// The sockets of this process, by their port: civetweb keeps its own to itself.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace ioc_exporter::web {

// Calls `visit` with each TCP socket that is bound to one of these ports, until it returns true. It
// gets a duplicate: the number may be another file's by then. Nothing when /proc cannot be read.
void visit_own_sockets(std::span<const std::uint16_t> ports, const std::function<bool(int)>& visit);

// The same address without "::ffff:", which a socket of both families puts before an IPv4 one.
std::string plain_address(std::string text);

// Whether an address, as Request::remote has it, is one of this host's: of the exporter's network
// namespace, loopback included. Where the kernel does not tell them, only loopback is.
bool is_own_address(const std::string& address);

}  // namespace ioc_exporter::web
