#ifdef IOC_EXPORTER_TLS  // otherwise tls_client_none.cpp has what is here

#include "base/tls_client.h"

#include <openssl/x509v3.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <utility>

#include "base/openssl_handles.h"

namespace ioc_exporter {
namespace {

using openssl::Connection;
using openssl::Context;
using openssl::error_text;

// The static binary's OpenSSL is Debian's, and looks where Debian has them.
constexpr const char* kBundles[] = {"/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
                                    "/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/cert.pem"};

Result<void> believe(SSL_CTX* context, const std::string& file) {
  if (!file.empty()) {
    if (SSL_CTX_load_verify_file(context, file.c_str()) == 1) return {};
    return error_in_words("read certificates (PEM) from " + file + ": " + error_text());
  }
  SSL_CTX_set_default_verify_paths(context);
  for (const char* bundle : kBundles)
    if (::access(bundle, R_OK) == 0) SSL_CTX_load_verify_file(context, bundle);
  ERR_clear_error();
  return {};
}

Result<void> take_certificate(SSL_CTX* context, const TlsClientFiles& files) {
  if (files.certificate.empty() && files.key.empty()) return {};
  if (files.certificate.empty() || files.key.empty())
    return error_in_words("a certificate needs its key, and a key its certificate");
  SSL_CTX_set_default_passwd_cb(context, openssl::no_password);
  if (SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1)
    return error_in_words("read a certificate (PEM) from " + files.certificate + ": " +
                          error_text());
  if (SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) != 1)
    return error_in_words("read the key (PEM) of " + files.certificate + " from " + files.key +
                          ": " + error_text());
  return {};
}

// The host that its certificate must name.
Result<void> expect(SSL* connection, const std::string& host) {
  X509_VERIFY_PARAM* rules = SSL_get0_param(connection);
  if (X509_VERIFY_PARAM_set1_ip_asc(rules, host.c_str()) == 1) return {};
  ERR_clear_error();
  X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (X509_VERIFY_PARAM_set1_host(rules, host.c_str(), 0) == 1 &&
      SSL_set_tlsext_host_name(connection, host.c_str()) == 1)
    return {};
  return error_in_words("check the name " + host + ": " + error_text());
}

}  // namespace

struct TlsClient::State {
  Context context;
  Connection connection;
  Wait wait;

  // `step` until it is done; 0: the server says that it has ended.
  template <class Step>
  Result<int> until_done(const Step& step) {
    while (true) {
      ERR_clear_error();
      const int done = step();
      if (done > 0) return done;
      switch (SSL_get_error(connection.get(), done)) {
        case SSL_ERROR_WANT_READ:
          if (auto ready = wait(POLLIN); !ready) return ready.error();
          break;
        case SSL_ERROR_WANT_WRITE:
          if (auto ready = wait(POLLOUT); !ready) return ready.error();
          break;
        case SSL_ERROR_ZERO_RETURN:
          return 0;
        case SSL_ERROR_SYSCALL:
          return last_error("speak TLS");
        default:
          return error_in_words("speak TLS: " + error_text());
      }
    }
  }
};

TlsClient::TlsClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
TlsClient::~TlsClient() = default;

bool TlsClient::is_there() {
  return true;
}

Result<std::unique_ptr<TlsClient>> TlsClient::open(int fd, const std::string& host,
                                                   const TlsClientFiles& files, Wait wait) {
  auto state = std::make_unique<State>();
  state->wait = std::move(wait);
  state->context.reset(SSL_CTX_new(TLS_client_method()));
  if (!state->context) return error_in_words("start OpenSSL: " + error_text());
  SSL_CTX* const context = state->context.get();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  if (auto done = believe(context, files.authorities); !done) return done.error();
  if (auto done = take_certificate(context, files); !done) return done.error();
  state->connection.reset(SSL_new(context));
  SSL* const connection = state->connection.get();
  if (connection == nullptr || SSL_set_fd(connection, fd) != 1)
    return error_in_words("start OpenSSL: " + error_text());
  if (auto done = expect(connection, host); !done) return done.error();
  const auto shaken = state->until_done([connection] { return SSL_connect(connection); });
  const long verdict = SSL_get_verify_result(connection);
  if (verdict != X509_V_OK)
    return error_in_words("believe the certificate of " + host + ": " +
                          X509_verify_cert_error_string(verdict));
  if (!shaken) return shaken.error();
  return std::unique_ptr<TlsClient>(new TlsClient(std::move(state)));
}

Result<void> TlsClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = state_->until_done([this, bytes] {
      return SSL_write(state_->connection.get(), bytes.data(),
                       static_cast<int>(std::min<std::size_t>(bytes.size(), INT_MAX)));
    });
    if (!sent) return sent.error();
    if (*sent == 0) return error_in_words("the server has closed the connection");
    bytes.remove_prefix(static_cast<std::size_t>(*sent));
  }
  return {};
}

Result<std::size_t> TlsClient::receive(std::span<char> bytes) {
  const auto got = state_->until_done([this, bytes] {
    return SSL_read(state_->connection.get(), bytes.data(),
                    static_cast<int>(std::min<std::size_t>(bytes.size(), INT_MAX)));
  });
  if (!got) return got.error();
  return static_cast<std::size_t>(*got);
}

}  // namespace ioc_exporter

#endif
