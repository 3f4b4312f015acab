#include "base/client_network.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace ioc_exporter {
namespace {

constexpr ClientAddress kMappedIpv4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr unsigned kBitsBeforeIpv4 = 96;

// The bits of byte `i` that a prefix of `bits` bits covers.
std::uint8_t mask(unsigned bits, std::size_t i) {
  const auto covered = std::clamp<int>(static_cast<int>(bits) - static_cast<int>(8 * i), 0, 8);
  return static_cast<std::uint8_t>(0xff00U >> static_cast<unsigned>(covered));
}

Error no_network(const std::string& text, const std::string& why) {
  return error_in_words("\"" + text + "\" is no network: " + why);
}

}  // namespace

std::optional<ClientAddress> parse_client_address(const std::string& text) {
  ClientAddress address = kMappedIpv4;
  if (inet_pton(AF_INET, text.c_str(), address.data() + kBitsBeforeIpv4 / 8) == 1) return address;
  if (inet_pton(AF_INET6, text.substr(0, text.find('%')).c_str(), address.data()) == 1)
    return address;
  return std::nullopt;
}

Result<ClientNetwork> ClientNetwork::parse(const std::string& text) {
  const std::size_t slash = text.find('/');
  const std::string host = text.substr(0, slash);
  const auto address = parse_client_address(host);
  if (!address || host.find('%') != std::string::npos)
    return no_network(text, "it wants an address, or ADDRESS/BITS");
  ClientNetwork network;
  network.address_ = *address;
  network.text_ = text;
  if (slash == std::string::npos) return network;

  const unsigned before = host.find(':') == std::string::npos ? kBitsBeforeIpv4 : 0;
  unsigned bits = 0;
  const char* const end = text.data() + text.size();
  const auto [after, failed] = std::from_chars(text.data() + slash + 1, end, bits);
  if (failed != std::errc() || after != end || bits > 128 - before)
    return no_network(text, "what follows the slash is no number of bits from 0 to " +
                                std::to_string(128 - before));
  network.bits_ = before + bits;
  for (std::size_t i = 0; i < address->size(); ++i)
    if (((*address)[i] & ~mask(network.bits_, i)) != 0)
      return no_network(text, "the address has bits beyond the first " + std::to_string(bits));
  return network;
}

bool ClientNetwork::contains(const ClientAddress& address) const {
  for (std::size_t i = 0; i < address.size(); ++i)
    if (((address[i] ^ address_[i]) & mask(bits_, i)) != 0) return false;
  return true;
}

}  // namespace ioc_exporter
