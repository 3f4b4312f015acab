#include "probes/ca_connections.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <utility>

namespace ioc_exporter::probes {
namespace {

constexpr std::array<std::uint8_t, 12> kMappedPrefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
// States of include/net/tcp_states.h that carry no more data.
constexpr std::uint32_t kTimeWait = 6, kClose = 7, kListen = 10;

template <class Number>
bool parse_hex(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  return error == std::errc() && end == text.data() + text.size();
}

// "0100007F:13C8", or with 32 digits: words of four bytes as the host's order reads them.
bool parse_endpoint(std::string_view text, iocx_ca_address& address, std::uint16_t& port) {
  const std::size_t colon = text.find(':');
  if (colon != 8 && colon != 32) return false;
  std::memcpy(address.bytes, kMappedPrefix.data(), kMappedPrefix.size());
  std::uint8_t* to = colon == 8 ? address.bytes + 12 : address.bytes;
  for (std::size_t at = 0; at < colon; at += 8, to += 4) {
    std::uint32_t word = 0;
    if (!parse_hex(text.substr(at, 8), word)) return false;
    std::memcpy(to, &word, sizeof word);
  }
  return parse_hex(text.substr(colon + 1), port);
}

std::string_view next_field(std::string_view& line) {
  const std::size_t start = line.find_first_not_of(' ');
  if (start == std::string_view::npos) return line = {};
  line.remove_prefix(start);
  const std::string_view field = line.substr(0, line.find(' '));
  line.remove_prefix(field.size());
  return field;
}

}  // namespace

iocx_ca_address ca_address_v4(const std::uint8_t (&octets)[4]) {
  iocx_ca_address address{};
  std::memcpy(address.bytes, kMappedPrefix.data(), kMappedPrefix.size());
  std::memcpy(address.bytes + kMappedPrefix.size(), octets, sizeof octets);
  return address;
}

bool is_loopback(const iocx_ca_address& address) {
  const std::uint8_t one[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  if (std::memcmp(address.bytes, kMappedPrefix.data(), kMappedPrefix.size()) == 0)
    return address.bytes[kMappedPrefix.size()] == 127;
  return std::memcmp(address.bytes, one, sizeof one) == 0;
}

std::string ca_address_text(const iocx_ca_address& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (std::memcmp(address.bytes, kMappedPrefix.data(), kMappedPrefix.size()) == 0)
    ::inet_ntop(AF_INET, address.bytes + kMappedPrefix.size(), text, sizeof text);
  else
    ::inet_ntop(AF_INET6, address.bytes, text, sizeof text);
  return text;
}

std::optional<iocx_ca_flow_key> parse_tcp_connection(std::string_view line) {
  iocx_ca_flow_key key{};
  std::uint32_t state = 0;
  if (!next_field(line).ends_with(':')) return std::nullopt;
  if (!parse_endpoint(next_field(line), key.server, key.server_port)) return std::nullopt;
  if (!parse_endpoint(next_field(line), key.client, key.client_port)) return std::nullopt;
  if (!parse_hex(next_field(line), state)) return std::nullopt;
  if (state == kTimeWait || state == kClose || state == kListen) return std::nullopt;
  return key;
}

iocx_ca_flow_key as_client(const iocx_ca_flow_key& key) {
  iocx_ca_flow_key swapped = key;
  std::swap(swapped.client, swapped.server);
  std::swap(swapped.client_port, swapped.server_port);
  return swapped;
}

Result<CaFlowKeys> read_tcp_connections(const RootedFs& fs,
                                        const std::function<bool(std::uint16_t)>& wanted,
                                        std::optional<pid_t> process) {
  const std::string whose = process ? std::to_string(*process) : "thread-self";
  CaFlowKeys keys;
  for (const char* file : {"tcp", "tcp6"}) {
    auto content = fs.read("/proc/" + whose + "/net/" + file);
    // A host without IPv6 has no tcp6.
    if (!content && content.error().code == std::errc::no_such_file_or_directory &&
        std::string_view(file).ends_with('6'))
      continue;
    if (!content) return std::move(content).error();
    std::string_view rest = *content;
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      const auto key = parse_tcp_connection(line);
      if (key && wanted(key->server_port)) keys.insert(*key);
      if (key && wanted(key->client_port)) keys.insert(as_client(*key));
    }
  }
  return keys;
}

Result<CaAddresses> read_local_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return last_error("read the host's addresses");
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  CaAddresses addresses;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr) continue;
    iocx_ca_address address{};
    if (one->ifa_addr->sa_family == AF_INET) {
      sockaddr_in in;
      std::memcpy(&in, one->ifa_addr, sizeof in);
      std::uint8_t octets[4];
      std::memcpy(octets, &in.sin_addr, sizeof octets);
      address = ca_address_v4(octets);
    } else if (one->ifa_addr->sa_family == AF_INET6) {
      sockaddr_in6 in;
      std::memcpy(&in, one->ifa_addr, sizeof in);
      std::memcpy(address.bytes, &in.sin6_addr, sizeof address.bytes);
    } else {
      continue;
    }
    addresses.insert(address);
  }
  return addresses;
}

}  // namespace ioc_exporter::probes
