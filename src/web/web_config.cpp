#include "web/web_config.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/yaml_reader.h"
#include "web/tls.h"

namespace ioc_exporter::web {
namespace {

constexpr const char* kNoTls =
    "this ioc_exporter does not speak TLS: it was built with the distribution's civetweb, and the "
    "civetweb 1.15 of Debian 12 crashes at the first TLS connection with OpenSSL 3. The binary of "
    "a release does; or put a proxy in front, as docs/configuration.md#tls shows, and take this "
    "section out";

// A password check takes 2^cost rounds: 15 are about 2 s.
constexpr int kMostCost = 15;

struct Header {
  const char* name;
  std::vector<std::string> values;  // that are allowed; empty: any
};

const std::array<Header, 5>& known_headers() {
  static const std::array<Header, 5> kHeaders = {{{"Content-Security-Policy", {}},
                                                  {"Strict-Transport-Security", {}},
                                                  {"X-Content-Type-Options", {"nosniff"}},
                                                  {"X-Frame-Options", {"deny", "sameorigin"}},
                                                  {"X-XSS-Protection", {}}}};
  return kHeaders;
}

// "$2b$10$" and 53 characters of salt and hash; also $2a$ and $2y$.
std::string problem_of_hash(const std::string& hash) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool form = hash.size() == 60 && hash.starts_with("$2") &&
                    std::string("aby").find(hash[2]) != std::string::npos && hash[3] == '$' &&
                    is_digit(hash[4]) && is_digit(hash[5]) && hash[6] == '$' &&
                    std::all_of(hash.begin() + 7, hash.end(), [&](char c) {
                      return is_digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                             c == '.' || c == '/';
                    });
  if (!form) return "no bcrypt hash ($2y$10$...; make one with htpasswd -nBC 10 \"\")";
  const int cost = (hash[4] - '0') * 10 + (hash[5] - '0');
  if (cost < 4 || cost > kMostCost)
    return "the cost of a bcrypt hash must be 4 to " + std::to_string(kMostCost) +
           ": a check with a higher one takes seconds";
  return "";
}

void read_users(Reader& file, WebConfig& config) {
  file.pairs("basic_auth_users", [&](const Pair& user) {
    const auto complain = [&](const std::string& what) {
      file.problems().add(user.place, "basic_auth_users." + user.name + ": " + what);
    };
    if (user.name.empty() || user.name.find(':') != std::string::npos)
      complain("a user's name must not be empty, and must have no colon");
    if (const std::string problem = problem_of_hash(user.value); !problem.empty())
      complain(problem);
    config.users[user.name] = user.value;
  });
}

std::string problem_of_header(const std::string& name, const std::string& value) {
  const auto known = std::ranges::find(known_headers(), name, &Header::name);
  if (known == known_headers().end()) return "this header cannot be set";
  if (std::ranges::any_of(value, [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
    return "a header must have no control characters";
  if (value.empty() || known->values.empty() ||
      std::ranges::find(known->values, value) != known->values.end())
    return "";
  std::string allowed;
  for (const std::string& one : known->values) allowed += (allowed.empty() ? "" : " or ") + one;
  return "must be " + allowed;
}

void read_http(Reader& section, WebConfig& config) {
  section.has("http2");  // is not spoken
  section.pairs("headers", [&](const Pair& header) {
    const std::string problem = problem_of_header(header.name, header.value);
    if (problem.empty())
      config.headers[header.name] = header.value;
    else
      section.problems().add(header.place,
                             section.path() + ".headers." + header.name + ": " + problem);
  });
}

std::string folder_of(const std::string& file) {
  const auto slash = file.rfind('/');
  return slash == std::string::npos ? "" : file.substr(0, slash);
}

// Names of Go's, and of OpenSSL's.
constexpr std::array<std::pair<std::string_view, const char*>, 4> kCurves = {
    {{"CurveP256", "P-256"}, {"CurveP384", "P-384"}, {"CurveP521", "P-521"}, {"X25519", "X25519"}}};

std::string path_of(Reader& section, const char* key, const std::string& folder) {
  const std::string path = section.text(key, "a path").value_or("");
  return path.empty() || path.front() == '/' || folder.empty() ? path : folder + "/" + path;
}

// TLS 1.0 and 1.1 are broken.
OptionValue tls_version(int& into) {
  return one_of<int>(into, {{"TLS12", 12}, {"TLS13", 13}});
}

OptionValue client_auth(TlsConfig::ClientAuth& into) {
  using Auth = TlsConfig::ClientAuth;
  return one_of<Auth>(into, {{"NoClientCert", Auth::none},
                             {"RequestClientCert", Auth::request},
                             {"RequireAnyClientCert", Auth::require_any},
                             {"VerifyClientCertIfGiven", Auth::verify_if_given},
                             {"RequireAndVerifyClientCert", Auth::require_and_verify}});
}

std::vector<std::string> curves_of(Reader& section) {
  std::vector<std::string> curves;
  const auto names = section.texts("curve_preferences");
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto found = std::ranges::find(kCurves, std::string_view(names[i]),
                                         &decltype(kCurves)::value_type::first);
    if (found == kCurves.end())
      section.complain("curve_preferences", i,
                       "must be one of CurveP256, CurveP384, CurveP521, X25519");
    else
      curves.push_back(found->second);
  }
  return curves;
}

// Paths that are not absolute begin in `folder`. What is wrong goes to the section's problems.
TlsConfig read_tls_config(Reader& section, const std::string& folder) {
  TlsConfig config;
  config.cert_file = path_of(section, "cert_file", folder);
  config.key_file = path_of(section, "key_file", folder);
  config.client_ca_file = path_of(section, "client_ca_file", folder);
  if (section.text("client_auth_type") != "")
    section.set("client_auth_type", client_auth(config.client_auth));
  section.set("min_version", tls_version(config.min_version));
  section.set("max_version", tls_version(config.max_version));
  config.ciphers = section.texts("cipher_suites");
  config.curves = curves_of(section);
  section.has("prefer_server_cipher_suites");  // they always are
  section.require("cert_file");
  section.require("key_file");
  if (config.max_version < config.min_version)
    section.complain("max_version", "is below min_version");
  if (config.verifies_clients() && config.client_ca_file.empty())
    section.complain("client_auth_type", "needs client_ca_file, which says whom to believe");
  if (!config.verifies_clients() && !config.client_ca_file.empty())
    section.complain("client_ca_file",
                     "nobody is checked by it: client_auth_type must be VerifyClientCertIfGiven or "
                     "RequireAndVerifyClientCert");
  return config;
}

}  // namespace

std::vector<std::string> TlsConfig::files() const {
  std::vector<std::string> files = {cert_file, key_file};
  if (!client_ca_file.empty()) files.push_back(client_ca_file);
  return files;
}

Result<WebConfig> parse_web_config(const std::string& text, const std::string& name) {
  WebConfig config;
  const auto good = read_yaml(text, name, [&](Reader& file) {
    if (file.has("tls_server_config") && !Tls::available())
      file.complain("tls_server_config", kNoTls);
    else
      file.section("tls_server_config", [&](Reader& section) {
        config.tls = read_tls_config(section, folder_of(name));
      });
    file.section("http_server_config", [&](Reader& section) { read_http(section, config); });
    read_users(file, config);
    if (file.has("rate_limit"))  // of 0.2.0
      config.gone.push_back(name +
                            ": rate_limit has no effect any more: --web.max-requests bounds the "
                            "requests at a time, a third of them for one address");
  });
  if (!good) return good.error();
  return config;
}

Result<WebConfig> read_web_config(const std::string& path) {
  const auto text = read_text(path);
  if (!text) return text.error();
  return parse_web_config(*text, path);
}

}  // namespace ioc_exporter::web
