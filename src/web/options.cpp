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
      {{.flag = "web.listen-address",
        .argument = "ADDRESS",
        .help = "Address to listen on (repeatable); port 0 picks a free one",
        .value = texts(options.listen, check_address)},
       {.flag = "web.telemetry-path",
        .argument = "PATH",
        .help = "Path of the metrics",
        .value = text(options.telemetry_path, check_path)},
       {.flag = "web.max-requests",
        .argument = "N",
        .help = "Requests at a time; more get status 503",
        .value = whole_number(options.max_requests, 1, 1000)},
       {.flag = "web.allowed-hosts",
        .argument = "NAME",
        .help = "Names of the host in requests, .ENDING or * (repeatable), besides addresses and "
                "its own names",
        .value = texts(options.allowed_hosts, check_allowed_host)},
       {.flag = "web.config.file",
        .argument = "FILE",
        .help =
            "TLS, passwords, headers and rate limit, in the format of Prometheus' exporter-toolkit",
        .value = text(options.config_file)},
       {.flag = "web.enable-lifecycle",
        .help = "Answer POST /-/detach, /-/attach and /-/reload",
        .value = on_off(options.lifecycle)},
       {.flag = "web.lifecycle-users",
        .argument = "USER",
        .help = "Users of --web.config.file who may do that (repeatable); default: all",
        .value = texts(options.lifecycle_users)}});
}

}  // namespace ioc_exporter::web
