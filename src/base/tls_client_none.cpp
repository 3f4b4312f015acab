// A build with the civetweb of Debian 12, without TLS.
#ifndef IOC_EXPORTER_TLS

#include <utility>

#include "base/tls_client.h"

namespace ioc_exporter {

struct TlsClient::State {};

TlsClient::TlsClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
TlsClient::~TlsClient() = default;

bool TlsClient::is_there() {
  return false;
}

Result<std::unique_ptr<TlsClient>> TlsClient::open(int, const std::string&, const TlsClientFiles&,
                                                   Wait) {
  return error_in_words("this ioc_exporter does not speak TLS (that of a release does)");
}

Result<void> TlsClient::send(std::string_view) {
  return {};
}

Result<std::size_t> TlsClient::receive(std::span<char>) {
  return std::size_t{0};
}

}  // namespace ioc_exporter

#endif
