// Unfit certificates are refused at the start, with the name of the file. All files are made by
// openssl.
#include "web/tls.h"
#include <gmock/gmock.h>

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/value_of.h"
#include "test_server.h"
#include "web/web_config.h"

namespace ioc_exporter::web {
namespace {

constexpr const char* kMake = R"(cd "$0" || exit 1
new_key="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
openssl req -x509 $new_key -keyout good.key -out good.pem -subj /CN=good -days 2 &&
openssl req -x509 $new_key -keyout other.key -out other.pem -subj /CN=other -days 2 &&
openssl pkey -in good.key -aes128 -passout pass:secret -out locked.key &&
openssl req -x509 -newkey rsa:512 -nodes -keyout weak.key -out weak.pem -subj /CN=weak -days 2 &&
openssl req -new -key good.key -subj /CN=old -out old.csr &&
: >index && printf '[ca]\ndefault_ca=x\n[x]\ndatabase=index\nserial=serial\nnew_certs_dir=.\n%s\n' \
  'default_md=sha256
policy=p
[p]
commonName=supplied' >ca.conf && echo 01 >serial &&
openssl ca -batch -config ca.conf -in old.csr -out old.pem -cert good.pem -keyfile good.key -notext \
  -startdate 20200101000000Z -enddate 20200102000000Z &&
head -c 300 good.pem >cut.pem && cat good.pem other.pem >chain.pem)";

class TlsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::filesystem::create_directories(folder());
    made_ =
        std::system(("sh -c '" + quoted(kMake) + "' " + folder() + " >" + folder() + "/log 2>&1")
                        .c_str()) == 0;
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder()); }
  void SetUp() override {
    if (!Tls::available()) GTEST_SKIP() << "this build has no TLS";
    if (std::system("openssl version >/dev/null 2>&1") != 0) GTEST_SKIP() << "needs openssl";
    ASSERT_TRUE(made_) << std::ifstream(folder() + "/log").rdbuf();
  }

  static std::string folder() {
    return std::filesystem::temp_directory_path() / ("tls_test." + std::to_string(::getpid()));
  }
  static std::string quoted(std::string text) {
    for (std::size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 4)
      text.replace(at, 1, "'\\''");
    return text;
  }
  static TlsConfig config(const std::string& cert, const std::string& key) {
    TlsConfig config;
    config.cert_file = folder() + "/" + cert;
    config.key_file = folder() + "/" + key;
    return config;
  }
  // Without the folder.
  static std::string problem_of(const TlsConfig& config) {
    std::string text = error_of(Tls::load(config));
    for (std::size_t at = 0; (at = text.find(folder() + "/")) != std::string::npos;)
      text.erase(at, folder().size() + 1);
    return text;
  }

  static inline bool made_ = false;
};

TEST_F(TlsTest, AGoodOneWorksWithWhateverIsChosen) {
  EXPECT_EQ(problem_of(config("good.pem", "good.key")), "");
  EXPECT_EQ(problem_of(config("chain.pem", "good.key")), "");
  TlsConfig strict = config("good.pem", "good.key");
  strict.min_version = 13;
  strict.curves = {"X25519", "P-384"};
  strict.client_auth = TlsConfig::ClientAuth::require_and_verify;
  strict.client_ca_file = folder() + "/chain.pem";
  EXPECT_EQ(problem_of(strict), "");
  TlsConfig old = config("good.pem", "good.key");
  old.max_version = 12;
  old.ciphers = {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"};
  EXPECT_EQ(problem_of(old), "");
}

TEST_F(TlsTest, AServerGivesALargeBodyWholeAndCutsAClientThatDoesNotReadIt) {
  const auto tls = value_of(Tls::load(config("good.pem", "good.key")));
  std::string large(8u << 20, '\0');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>('!' + i * i % 89);
  ServerOptions options = options_on({"127.0.0.1:0"});
  options.tls = [&tls] { return tls; };
  options.routes["/large"] = [&large](const Request&) { return Response{200, "x/y", large}; };
  std::atomic<int> not_taken = 0;
  options.refused = [&](const Request&, const std::string& reason) {
    not_taken += reason == "not_taken" ? 1 : 0;
  };
  options.request_timeout = options.response_timeout = std::chrono::milliseconds(500);
  const auto server = start(std::move(options));
  const std::string ask =
      "printf 'GET /large HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' | openssl s_client -quiet "
      "-connect 127.0.0.1:" +
      std::to_string(server->port()) + " 2>/dev/null";
  const auto get = [&ask] {
    FILE* client = ::popen(ask.c_str(), "r");
    std::string text;
    char piece[4096];
    for (std::size_t got = 0; (got = std::fread(piece, 1, sizeof piece, client)) > 0;)
      text.append(piece, got);
    ::pclose(client);
    return text;
  };
  // A client that is slow on a busy host may be cut: one of a few is not.
  std::string text;
  for (int tries = 0; tries < 10 && text.size() < large.size(); ++tries) text = get();
  ASSERT_GT(text.size(), large.size());
  EXPECT_TRUE(text.substr(text.size() - large.size()) == large);

  const int before = not_taken;
  FILE* idle = ::popen(ask.c_str(), "r");  // never read from
  for (int i = 0; i < 6000 && not_taken == before; ++i) ::usleep(10'000);
  EXPECT_GT(not_taken, before);
  ::pclose(idle);
}

TEST_F(TlsTest, ErrorsNameTheirFile) {
  const auto begins = [](const TlsConfig& config, const std::string& text) {
    EXPECT_EQ(problem_of(config).substr(0, text.size()), text);
  };
  begins(config("none.pem", "good.key"), "cert_file none.pem: ");
  begins(config("good.pem", "none.key"), "key_file none.key: ");
  begins(config("good.key", "good.key"),
         "cert_file good.key: has no certificate in the PEM format");
  begins(config("cut.pem", "good.key"), "cert_file cut.pem: no certificate in the PEM format");
  begins(config("good.pem", "good.pem"), "key_file good.pem: has no private key");
  begins(config("good.pem", "locked.key"),
         "key_file locked.key: has no private key in the PEM format that needs no password");
  begins(config("good.pem", "other.key"),
         "key_file other.key: is not the key of the certificate in good.pem");
  begins(config("old.pem", "good.key"),
         "cert_file old.pem: the certificate expired on Jan  2 00:00:00 2020 GMT");
  begins(config("weak.pem", "weak.key"),
         "cert_file weak.pem: OpenSSL refuses the certificate: ee key too small");
  TlsConfig blind = config("good.pem", "good.key");
  blind.client_auth = TlsConfig::ClientAuth::require_and_verify;
  blind.client_ca_file = folder() + "/good.key";
  begins(blind, "client_ca_file good.key: has no certificate in the PEM format");
}

TEST_F(TlsTest, CiphersThatFitNoCertificateAreFoundByTheHandshake) {
  TlsConfig wrong = config("good.pem", "good.key");
  wrong.max_version = 12;
  wrong.ciphers = {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"};  // the key is an elliptic one
  EXPECT_EQ(problem_of(wrong), "cert_file good.pem: a handshake with it fails: no shared cipher");
  wrong.ciphers = {"TLS_MADE_UP"};
  EXPECT_EQ(problem_of(wrong), "cipher_suites: OpenSSL does not know TLS_MADE_UP");
}

TEST_F(TlsTest, TheFormatOfTheExporterToolkit) {
  const auto config = value_of(parse_web_config(
      "tls_server_config:\n  cert_file: a.pem\n  key_file: /b.key\n  client_ca_file: ca.pem\n"
      "  client_auth_type: RequireAndVerifyClientCert\n  min_version: TLS13\n  max_version: TLS13\n"
      "  curve_preferences: [CurveP256, X25519]\n  prefer_server_cipher_suites: true\n",
      "/etc/x/web.yml"));
  const TlsConfig tls = value_of(config.tls);
  EXPECT_EQ(tls.files(), (std::vector<std::string>{"/etc/x/a.pem", "/b.key", "/etc/x/ca.pem"}));
  EXPECT_EQ(tls.client_auth, TlsConfig::ClientAuth::require_and_verify);
  EXPECT_EQ(tls.min_version, 13);
  EXPECT_EQ(tls.curves, (std::vector<std::string>{"P-256", "X25519"}));
}

TEST_F(TlsTest, SettingsThatLetAnybodyInAreProblems) {
  const auto problems = [](const std::string& text) {
    return error_of(
        parse_web_config("tls_server_config: {cert_file: a, key_file: b, " + text + "}\n", "w"));
  };
  const auto holds = [&](const std::string& text, const std::string& problem) {
    EXPECT_NE(problems(text).find(problem), std::string::npos) << text << ": " << problems(text);
  };
  holds("client_auth_type: RequireAndVerifyClientCert", "needs client_ca_file");
  holds("client_ca_file: x", "nobody is checked by it");
  holds("client_ca_file: x, client_auth_type: RequireAnyClientCert", "nobody is checked by it");
  holds("client_auth_type: Require", "is none of NoClientCert");
  holds("client_allowed_sans: [x]", "no such key");
  holds("min_version: TLS11", "is none of TLS12, TLS13");
  holds("min_version: TLS13, max_version: TLS12", "is below min_version");
  holds("curve_preferences: [P-256]", "must be one of CurveP256");
  EXPECT_THAT(error_of(parse_web_config("tls_server_config: {cert_file: a}\n", "w")),
              testing::HasSubstr("key_file"));
  EXPECT_FALSE(parse_web_config("tls_server_config:\n", "w"));
}

}  // namespace
}  // namespace ioc_exporter::web
