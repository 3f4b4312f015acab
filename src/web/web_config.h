// The file of --web.config.file, in the format of Prometheus' exporter-toolkit
// (docs/web-configuration.md there).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "web/tls.h"

namespace ioc_exporter::web {

struct WebConfig {
  struct RateLimit {
    std::chrono::milliseconds interval{};  // between two requests
    std::uint64_t burst = 1;               // that may come at once
  };
  std::map<std::string, std::string> users;  // name -> bcrypt hash; empty: no password is asked for
  std::map<std::string, std::string> headers;  // of every answer; "" = none of that name
  std::optional<RateLimit> rate_limit;
  std::optional<TlsConfig> tls;  // none: HTTP without
};

// The error holds all problems, as read_config()'s. A file that asks for TLS is refused where this
// build has none: it says why. `name`: the file, in whose folder relative paths begin.
Result<WebConfig> read_web_config(const std::string& path);
Result<WebConfig> parse_web_config(const std::string& text, const std::string& name);

}  // namespace ioc_exporter::web
