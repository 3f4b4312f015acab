// ClientNetwork: a CIDR block of IPv4 or IPv6 addresses.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace ioc_exporter {

// An address as 16 bytes; IPv4 as ::ffff:a.b.c.d (RFC 4291, 2.5.5.2), so that both are compared
// alike.
using ClientAddress = std::array<std::uint8_t, 16>;

// Nothing when the text is no address. A zone ("%eth0") is left out.
std::optional<ClientAddress> parse_client_address(const std::string& text);

class ClientNetwork {
 public:
  // "10.0.0.0/8", "2001:db8::/32", or one address. Bits behind the prefix must be 0: "10.1.2.3/8"
  // is more likely a slip than a network.
  static Result<ClientNetwork> parse(const std::string& text);

  bool contains(const ClientAddress& address) const;
  // As it was written.
  const std::string& text() const { return text_; }

 private:
  ClientAddress address_{};
  unsigned bits_ = 128;  // of the 16 bytes
  std::string text_;
};

}  // namespace ioc_exporter
