// ServerKey: a server that clients put to: an IOC, by its number, and the protocol.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace ioc_exporter::puts {

enum class Protocol : std::uint8_t { ca, pva };
inline constexpr Protocol kProtocols[] = {Protocol::ca, Protocol::pva};
constexpr std::size_t index_of(Protocol protocol) {
  return static_cast<std::size_t>(protocol);
}

struct ServerKey {
  std::uint32_t ioc = 0;
  Protocol protocol = Protocol::ca;
  auto operator<=>(const ServerKey&) const = default;
};

}  // namespace ioc_exporter::puts
