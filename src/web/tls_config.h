// tls_server_config of the file of --web.config.file, in the format of Prometheus'
// exporter-toolkit.
#pragma once

#include <string>
#include <vector>

#include "base/yaml_reader.h"

namespace ioc_exporter::web {

struct TlsConfig {
  // In the order of the format's own names; see kClientAuthNames in tls_config.cpp.
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

// Paths that are not absolute begin in `folder`. What is wrong goes to the section's problems.
TlsConfig read_tls_config(Reader& section, const std::string& folder);

}  // namespace ioc_exporter::web
