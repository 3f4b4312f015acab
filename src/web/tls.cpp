#include "web/tls.h"

#ifdef IOC_EXPORTER_TLS

#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <ctime>
#include <utility>
#include <vector>

#include "base/rooted_fs.h"
#include "web/openssl_handles.h"

namespace ioc_exporter::web {
namespace {

constexpr std::size_t kMostBytes = 4u << 20;  // of a file
constexpr int kMostSteps = 20;                // of a handshake in memory: it takes four

using openssl::Connection;
using openssl::Context;
using openssl::Deleter;
using openssl::no_password;
using Bio = std::unique_ptr<BIO, Deleter<BIO_free>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;

Error problem_of(const char* key, const std::string& file, const std::string& what) {
  return error_in_words(std::string(key) + " " + file + ": " + what);
}

Result<std::string> read(const char* key, const std::string& file) {
  auto text = RootedFs().read_regular(file, kMostBytes);
  if (!text) return problem_of(key, file, text.error().message());
  return text;
}

Bio in_memory(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Result<std::vector<Certificate>> read_certificates(const char* key, const std::string& file) {
  const auto text = read(key, file);
  if (!text) return text.error();
  const Bio bio = in_memory(*text);
  std::vector<Certificate> all;
  ERR_clear_error();
  while (X509* one = PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr))
    all.emplace_back(one);
  // The last error must be the end of the file.
  if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
    return problem_of(key, file, "no certificate in the PEM format: " + openssl::error_text());
  ERR_clear_error();
  if (all.empty()) return problem_of(key, file, "has no certificate in the PEM format");
  return all;
}

std::string text_of(const ASN1_TIME* time) {
  const Bio bio(BIO_new(BIO_s_mem()));
  ASN1_TIME_print(bio.get(), time);
  char text[64] = "";
  const int length = BIO_read(bio.get(), text, sizeof text - 1);
  return {text, static_cast<std::size_t>(std::max(0, length))};
}

double seconds_of(const ASN1_TIME* time) {
  tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? static_cast<double>(::timegm(&parts)) : 0;
}

// The first of its chain.
double expiry_of(SSL_CTX* context) {
  double first = seconds_of(X509_get0_notAfter(SSL_CTX_get0_certificate(context)));
  STACK_OF(X509)* chain = nullptr;
  SSL_CTX_get0_chain_certs(context, &chain);
  for (int i = 0; i < sk_X509_num(chain); ++i)
    first = std::min(first, seconds_of(X509_get0_notAfter(sk_X509_value(chain, i))));
  return first;
}

Result<void> use_certificate(SSL_CTX* context, const TlsConfig& config) {
  auto chain = read_certificates("cert_file", config.cert_file);
  if (!chain) return chain.error();
  const auto complain = [&](const std::string& what) {
    return problem_of("cert_file", config.cert_file, what);
  };
  for (const Certificate& each : *chain) {
    if (X509_cmp_current_time(X509_get0_notAfter(each.get())) < 0)
      return complain("the certificate expired on " + text_of(X509_get0_notAfter(each.get())));
    if (X509_cmp_current_time(X509_get0_notBefore(each.get())) > 0)
      return complain("the certificate is not valid before " +
                      text_of(X509_get0_notBefore(each.get())));
  }
  if (SSL_CTX_use_certificate(context, chain->front().get()) != 1)
    return complain("OpenSSL refuses the certificate: " + openssl::error_text());
  for (std::size_t i = 1; i < chain->size(); ++i)
    if (SSL_CTX_add1_chain_cert(context, (*chain)[i].get()) != 1)
      return complain("OpenSSL refuses a certificate of its chain: " + openssl::error_text());
  return {};
}

Result<void> use_key(SSL_CTX* context, const TlsConfig& config) {
  const auto text = read("key_file", config.key_file);
  if (!text) return text.error();
  const auto complain = [&](const std::string& what) {
    return problem_of("key_file", config.key_file, what);
  };
  ERR_clear_error();
  const Bio bio = in_memory(*text);
  const Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
  ERR_clear_error();
  if (!key) return complain("has no private key in the PEM format that needs no password");
  if (X509_check_private_key(SSL_CTX_get0_certificate(context), key.get()) != 1) {
    ERR_clear_error();
    return complain("is not the key of the certificate in " + config.cert_file);
  }
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1)
    return complain("OpenSSL refuses the key: " + openssl::error_text());
  return {};
}

// Any certificate will do where the configuration says so.
int believe_anybody(X509_STORE_CTX*, void*) {
  return 1;
}

Result<void> use_client_auth(SSL_CTX* context, const TlsConfig& config) {
  using Auth = TlsConfig::ClientAuth;
  int mode = config.client_auth == Auth::none ? SSL_VERIFY_NONE : SSL_VERIFY_PEER;
  if (config.client_auth == Auth::require_any || config.client_auth == Auth::require_and_verify)
    mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
  SSL_CTX_set_verify(context, mode, nullptr);
  if (!config.verifies_clients()) {
    SSL_CTX_set_cert_verify_callback(context, believe_anybody, nullptr);
    return {};
  }
  const auto authorities = read_certificates("client_ca_file", config.client_ca_file);
  if (!authorities) return authorities.error();
  for (const Certificate& one : *authorities)
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), one.get()) != 1 ||
        SSL_CTX_add_client_CA(context, one.get()) != 1)
      return problem_of("client_ca_file", config.client_ca_file,
                        "OpenSSL refuses a certificate: " + openssl::error_text());
  return {};
}

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all.append(all.empty() ? "" : ":").append(name);
  return all;
}

Result<void> use_ciphers(SSL_CTX* context, const TlsConfig& config) {
  std::vector<std::string> names;
  for (const std::string& name : config.ciphers) {
    const std::string known = OPENSSL_cipher_name(name.c_str());
    if (known == "(NONE)") return error_in_words("cipher_suites: OpenSSL does not know " + name);
    // Ciphers of TLS 1.3 cannot be chosen, as in Go.
    if (!known.starts_with("TLS_")) names.push_back(known);
  }
  if (!names.empty() && SSL_CTX_set_cipher_list(context, joined(names).c_str()) != 1)
    return error_in_words("cipher_suites: OpenSSL refuses them: " + openssl::error_text());
  if (!config.curves.empty() &&
      SSL_CTX_set1_groups_list(context, joined(config.curves).c_str()) != 1)
    return error_in_words("curve_preferences: OpenSSL refuses them: " + openssl::error_text());
  return {};
}

int openssl_version(int version) {
  return version == 13 ? TLS1_3_VERSION : TLS1_2_VERSION;
}

// Hands the handshake's bytes over in memory.
Result<void> shake_hands_with_itself(SSL_CTX* context) {
  const Context other(SSL_CTX_new(TLS_client_method()));
  const Connection server(SSL_new(context)), client(SSL_new(other.get()));
  if (!server || !client) return error_in_words(openssl::error_text());
  SSL_set_verify(server.get(), SSL_VERIFY_NONE, nullptr);  // the client has no certificate
  BIO *near = nullptr, *far = nullptr;
  if (BIO_new_bio_pair(&near, 0, &far, 0) != 1) return error_in_words(openssl::error_text());
  SSL_set_bio(server.get(), near, near);
  SSL_set_bio(client.get(), far, far);
  for (int step = 0; step < kMostSteps; ++step) {
    ERR_clear_error();
    const int asked = SSL_connect(client.get());
    if (asked != 1 && SSL_get_error(client.get(), asked) != SSL_ERROR_WANT_READ)
      return error_in_words(openssl::error_text());
    const int answered = SSL_accept(server.get());
    if (answered != 1 && SSL_get_error(server.get(), answered) != SSL_ERROR_WANT_READ)
      return error_in_words(openssl::error_text());
    if (asked == 1 && answered == 1) return {};
  }
  return error_in_words("it does not come to an end");
}

}  // namespace

struct Tls::State {
  Context context;
};

Tls::Tls(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tls::~Tls() = default;

bool Tls::available() {
  return true;
}

std::string Tls::library() {
  return std::string("TLS by OpenSSL ") + OpenSSL_version(OPENSSL_VERSION_STRING);
}

Result<std::shared_ptr<const Tls>> Tls::load(const TlsConfig& config) {
  Context context(SSL_CTX_new(TLS_server_method()));
  if (!context) return error_in_words("start OpenSSL: " + openssl::error_text());
  SSL_CTX_set_min_proto_version(context.get(), openssl_version(config.min_version));
  SSL_CTX_set_max_proto_version(context.get(), openssl_version(config.max_version));
  // A client that comes back shakes hands anew, and is checked anew: that is a scrape in seconds.
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
                                         SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // Data for a slow client is written record by record, as without TLS, so that deadlines hold.
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  for (const auto step : {use_certificate, use_key, use_client_auth, use_ciphers})
    if (auto done = step(context.get(), config); !done) return done.error();
  if (auto works = shake_hands_with_itself(context.get()); !works)
    return problem_of("cert_file", config.cert_file,
                      "a handshake with it fails: " + works.error().message());
  auto state = std::make_unique<State>();
  state->context = std::move(context);
  return std::shared_ptr<const Tls>(new Tls(std::move(state)));
}

double Tls::expires_seconds() const {
  return expiry_of(state_->context.get());
}

void* Tls::context() const {
  return state_->context.get();
}

void* Tls::take_context() const {
  SSL_CTX_up_ref(state_->context.get());
  return state_->context.get();
}

}  // namespace ioc_exporter::web

#else  // the civetweb of Debian 12 cannot speak TLS: web_config.cpp says so

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

}  // namespace ioc_exporter::web

#endif
