// A build with the civetweb of Debian 12, which cannot speak TLS: web_config.cpp says so.
#ifndef IOC_EXPORTER_TLS

#include <utility>

#include "web/tls.h"

namespace ioc_exporter::web {

struct Tls::State {};

Tls::Tls(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tls::~Tls() = default;

bool Tls::available() {
  return false;
}

std::string Tls::library() {
  return "no TLS";
}

Result<std::shared_ptr<const Tls>> Tls::load(const TlsConfig&) {
  return error_in_words("this ioc_exporter does not speak TLS");
}

double Tls::expires_seconds() const {
  return 0;
}

void* Tls::context() const {
  return nullptr;
}

void* Tls::take_context() const {
  return nullptr;
}

Result<void> try_handshake(const std::string&, std::uint16_t, std::chrono::milliseconds) {
  return error_in_words("this ioc_exporter does not speak TLS");
}

}  // namespace ioc_exporter::web

#endif
