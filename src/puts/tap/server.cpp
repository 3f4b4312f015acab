#include "puts/tap/server.h"

namespace ioc_exporter::ca {

iocx_ca_server ca_server_key(const CaServer& server) {
  return {server.address, server.port, server.remote, server.net};
}

CaServer ca_server_of(const iocx_ca_server& key, std::uint32_t ioc) {
  return {key.address, key.port, ioc, key.net, key.remote != 0};
}

}  // namespace ioc_exporter::ca
