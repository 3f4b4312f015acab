#include "web/options.h"

#include "web/allowed_hosts.h"
#include "web/listen_address.h"

namespace ioc_exporter::web {
namespace {

Result<void> check_address(const std::string& text) {
  auto address = ListenAddress::parse(text);
  return address ? Result<void>() : address.error();
}

Result<void> check_path(const std::string& path) {
  if (path.size() >= 2 && path[0] == '/' && !path.starts_with("/-/")) return {};
  return error_in_words(shown(path) + " is no path of its own, such as /metrics");
}

}  // namespace

void add_options(OptionTable& table, Options& options) {
  table.add(
      "Web",
      {{"--web.listen-address=ADDRESS",
        "Address to listen on (repeatable); port 0 picks a free one",
        texts(options.listen, check_address)},
       {"--web.telemetry-path=PATH", "Path of the metrics",
        text(options.telemetry_path, check_path)},
       {"--web.max-requests=N",
        "Requests answered at a time, a third of them for one address; more get status 503",
        whole_number(options.max_requests, 1, 1000)},
       {"--web.allowed-hosts=NAME",
        "Host names that requests may use besides its addresses and own names: NAME, .ENDING or * "
        "(repeatable)",
        texts(options.allowed_hosts, check_allowed_host)},
       {"--web.config.file=FILE",
        "TLS, passwords and headers, in the format of Prometheus' exporter-toolkit",
        text(options.config_file)},
       {"--web.enable-lifecycle", "Answer POST /-/detach, /-/attach and /-/reload",
        on_off(options.lifecycle)},
       {"--web.lifecycle-users=USER",
        "Users of --web.config.file who may post these (repeatable); default: all",
        texts(options.lifecycle_users)}});
}

}  // namespace ioc_exporter::web
