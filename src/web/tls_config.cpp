#include "web/tls_config.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace ioc_exporter::web {
namespace {

constexpr std::array<std::string_view, 5> kClientAuthNames = {
    "NoClientCert", "RequestClientCert", "RequireAnyClientCert", "VerifyClientCertIfGiven",
    "RequireAndVerifyClientCert"};
constexpr std::array<std::pair<std::string_view, int>, 4> kVersions = {
    {{"TLS10", 10}, {"TLS11", 11}, {"TLS12", 12}, {"TLS13", 13}}};
// Names of Go's, and of OpenSSL's.
constexpr std::array<std::pair<std::string_view, const char*>, 4> kCurves = {
    {{"CurveP256", "P-256"}, {"CurveP384", "P-384"}, {"CurveP521", "P-521"}, {"X25519", "X25519"}}};

std::string path_of(Reader& section, const char* key, const std::string& folder) {
  const std::string path = section.text(key, "a path").value_or("");
  return path.empty() || path.front() == '/' || folder.empty() ? path : folder + "/" + path;
}

TlsConfig::ClientAuth client_auth_of(Reader& section) {
  const auto name = section.text("client_auth_type").value_or("");
  if (name.empty()) return TlsConfig::ClientAuth::none;
  const auto found = std::ranges::find(kClientAuthNames, name);
  if (found == kClientAuthNames.end()) {
    std::string known;
    for (const std::string_view one : kClientAuthNames)
      known.append(known.empty() ? "" : ", ").append(one);
    section.complain("client_auth_type", "must be one of " + known);
    return TlsConfig::ClientAuth::none;
  }
  return static_cast<TlsConfig::ClientAuth>(found - kClientAuthNames.begin());
}

int version_of(Reader& section, const char* key, int fallback) {
  const auto name = section.text(key);
  if (!name) return fallback;
  const auto found = std::ranges::find(kVersions, std::string_view(*name),
                                       &decltype(kVersions)::value_type::first);
  if (found == kVersions.end())
    section.complain(key, "must be TLS12 or TLS13");
  else if (found->second < 12)
    section.complain(key, "TLS 1.0 and 1.1 are broken: it must be TLS12 or TLS13");
  else
    return found->second;
  return fallback;
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

}  // namespace

std::vector<std::string> TlsConfig::files() const {
  std::vector<std::string> files = {cert_file, key_file};
  if (!client_ca_file.empty()) files.push_back(client_ca_file);
  return files;
}

TlsConfig read_tls_config(Reader& section, const std::string& folder) {
  TlsConfig config;
  config.cert_file = path_of(section, "cert_file", folder);
  config.key_file = path_of(section, "key_file", folder);
  config.client_ca_file = path_of(section, "client_ca_file", folder);
  config.client_auth = client_auth_of(section);
  config.min_version = version_of(section, "min_version", 12);
  config.max_version = version_of(section, "max_version", 13);
  config.ciphers = section.texts("cipher_suites");
  config.curves = curves_of(section);
  section.flag("prefer_server_cipher_suites");  // they always are
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

}  // namespace ioc_exporter::web
