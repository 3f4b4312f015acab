#include "puts/pva/put_labels.h"

#include <arpa/inet.h>

#include <algorithm>

#include "base/socket_table.h"
#include "puts/tap/tap_labels.h"

namespace ioc_exporter::puts {
namespace {

// In the spelling that all labels have: without "::ffff:" before an IPv4 address.
std::string plain(std::string address) {
  InetAddress bytes;
  return ::inet_pton(AF_INET6, address.c_str(), bytes.data()) == 1 ? address_text(bytes) : address;
}

}  // namespace

std::string address_of_peer(std::string_view peer) {
  if (peer.starts_with('[')) {
    const auto end = peer.find(']');
    return plain(std::string(peer.substr(1, end == std::string_view::npos ? end : end - 1)));
  }
  // More than one colon: IPv6 without a port.
  if (std::ranges::count(peer, ':') != 1) return plain(std::string(peer));
  return std::string(peer.substr(0, peer.find(':')));
}

std::string user_of(std::string_view method, std::string_view account) {
  if (method.empty()) return std::string(account);
  if (method != "ca") return std::string(method) + "/" + std::string(account);
  const auto slash = account.rfind('/');
  return std::string(slash == std::string_view::npos ? account : account.substr(slash + 1));
}

// The server knows its client by the address only: that is the host that access rules see.
PutLabels labels_of(std::uint32_t ioc, const iocx_pva_key& key) {
  const std::string address = address_of_peer(kernel_text(key.peer));
  return {ioc,          kernel_text(key.name),
          address,      user_of(kernel_text(key.method), kernel_text(key.user)),
          address,      false,
          Protocol::pva};
}

}  // namespace ioc_exporter::puts
