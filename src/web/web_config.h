// The file of --web.config.file, in the format of Prometheus' exporter-toolkit
// (docs/web-configuration.md there).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "web/tls.h"

namespace ioc_exporter::web {

struct WebConfig {
  std::map<std::string, std::string> users;  // name -> bcrypt hash; empty: no password is asked for
  std::map<std::string, std::string> headers;  // of every answer; "" = none of that name
  std::optional<TlsConfig> tls;                // none: HTTP without
  std::vector<std::string> gone;               // a line for each key that has no effect any more
};

// The error holds all problems, as read_config()'s. A file that asks for TLS is refused where this
// build has none: it says why. `name`: the file, in whose folder relative paths begin.
Result<WebConfig> read_web_config(const std::string& path);
Result<WebConfig> parse_web_config(const std::string& text, const std::string& name);

}  // namespace ioc_exporter::web
