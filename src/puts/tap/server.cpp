#include "puts/tap/server.h"

namespace ioc_exporter::puts {

iocx_ca_server tap_server_key(const TapServer& server) {
  return {server.address, server.port, server.remote};
}

bool speaks_pva(const iocx_ca_flow& flow) {
  const iocx_ca_stream& stream = flow.directions[IOCX_CA_TO_CLIENT].stream;
  return !flow.alien && stream.sync == IOCX_CA_FOLLOWED && !stream.first;
}

TapServer tap_server_of(const iocx_ca_server& key, std::uint32_t ioc) {
  return {key.address, key.port, ioc, key.remote != 0};
}

}  // namespace ioc_exporter::puts
