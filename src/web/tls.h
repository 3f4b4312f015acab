// Tls: what is needed to shake hands: a certificate, its key, whom to let in. It does not change;
// files that have changed make another one.
//
// The civetweb of Debian 12 cannot speak TLS: there nothing of this is available, and load() says
// so.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "web/tls_config.h"

namespace ioc_exporter::web {

class Tls {
 public:
  static bool available();
  // "TLS by OpenSSL 3.0.19", or "no TLS".
  static std::string library();

  // Reads the files, and shakes hands with itself: what is given out works. The error names the
  // file and the cause.
  static Result<std::shared_ptr<const Tls>> load(const TlsConfig& config);
  ~Tls();

  // When the first of its certificates expires, in seconds since 1970.
  double expires_seconds() const;

  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  // OpenSSL's SSL_CTX, as long as this is there; with a reference that is the caller's.
  void* context() const;
  void* take_context() const;

 private:
  struct State;
  explicit Tls(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Shakes hands with the server that listens there, as a client that believes anybody. A server that
// asks for the client's certificate is content to have been asked.
Result<void> try_handshake(const std::string& host, std::uint16_t port,
                           std::chrono::milliseconds patience);

}  // namespace ioc_exporter::web
