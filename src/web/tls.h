// Tls: the data of a handshake: a certificate, its key, and the clients to accept. It does not
// change; changed files make a new one.
//
// The civetweb of Debian 12 cannot speak TLS: load() then fails and says so.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace ioc_exporter::web {

// tls_server_config of the file of --web.config.file.
struct TlsConfig {
  enum class ClientAuth { none, request, require_any, verify_if_given, require_and_verify };

  std::string cert_file, key_file, client_ca_file;
  ClientAuth client_auth = ClientAuth::none;
  int min_version = 12, max_version = 13;  // TLS 1.2, 1.3
  std::vector<std::string> ciphers;        // of TLS 1.2, by their IANA names; none: OpenSSL's own
  std::vector<std::string> curves;         // by OpenSSL's names; none: OpenSSL's own

  bool verifies_clients() const {
    return client_auth == ClientAuth::verify_if_given ||
           client_auth == ClientAuth::require_and_verify;
  }
  // That a certificate or a key is exchanged shows in these.
  std::vector<std::string> files() const;
};

class Tls {
 public:
  static bool available();
  // "TLS by OpenSSL 3.0.19", or "no TLS".
  static std::string library();

  // Reads the files, and shakes hands with itself, so that the result works. The error names the
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

}  // namespace ioc_exporter::web
