// ListenAddress: where the server listens, as Prometheus' exporters write it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace ioc_exporter::web {

// Whether the civetweb library at hand was built with IPv6; Debian 12's was not, ours is. Without
// it ":PORT" means all IPv4 addresses, and an IPv6 address is an error.
bool civetweb_has_ipv6();

struct ListenAddress {
  std::string host;        // without brackets; "" = every address of the host, IPv4 and IPv6
  std::uint16_t port = 0;  // 0 = the kernel picks one
  // The host in figures, once try_listening() knows it; "" = every address.
  std::string numeric = {};

  // ":10064", "10064", "127.0.0.1:10064", "[::1]:10064", "localhost:10064".
  static Result<ListenAddress> parse(std::string_view text);

  // ":10064", "127.0.0.1:10064", "[::1]:10064"
  std::string text() const;
};

// Binds each address for a moment, all at the same time, and says how civetweb calls it
// ("127.0.0.1:10064", "[::1]:10064", "+10064" for both families, "10064" where one of host and
// civetweb has no IPv6). civetweb's own start only logs failures; here the error is "listen on
// ADDRESS: cause". Fills in what they are in figures.
Result<std::vector<std::string>> try_listening(std::vector<ListenAddress>& addresses);

// `host`: an address, "" = this host. `patience`: the longest wait for an answer, at each step.
Result<UniqueFd> connect_to(const std::string& host, std::uint16_t port,
                            std::chrono::milliseconds patience);

}  // namespace ioc_exporter::web
