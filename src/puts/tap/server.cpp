#include "puts/tap/server.h"

namespace ioc_exporter::ca {

iocx_ca_server ca_server_key(const CaServer& server) {
  const iocx_ca_address any_v4 = ca_address_v4({0, 0, 0, 0});
  iocx_ca_server key{};
  if (__builtin_memcmp(&server.address, &any_v4, sizeof any_v4) != 0) key.address = server.address;
  key.port = server.port;
  key.remote = server.remote ? 1 : 0;
  key.net = server.net;
  return key;
}

CaServer ca_server_of(const iocx_ca_server& key, std::uint32_t ioc) {
  return {key.address, key.port, ioc, key.net, key.remote != 0};
}

}  // namespace ioc_exporter::ca
