#include "app/confinement.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "app/privileges.h"
#include "app/sandbox.h"
#include "base/log.h"
#include "web/listen_address.h"

namespace ioc_exporter::app {
namespace {

// The ports that only root may listen on, unless the host says otherwise.
bool is_privileged_port(const std::string& text) {
  const auto address = web::ListenAddress::parse(text);
  return address && address->port > 0 && address->port < 1024;
}

}  // namespace

void close_inherited_files() {
  ::syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0);
}

Result<void> confine(const Options& options) {
  const bool keeps_pins = !options.check && !options.once;
  Privileges keep = options.privileges;
  if (std::ranges::any_of(options.web.listen, is_privileged_port))
    keep.capabilities.push_back(CAP_NET_BIND_SERVICE);
  auto left = drop_privileges(keep, keeps_pins ? options.ca.pin_directory : std::string());
  if (!left) return std::move(left).error();
  if (options.sandbox)
    if (auto ok = enter_sandbox({.probes = false, .net_namespaces = false}); !ok) return ok;
  log::info("{}{}", *left, options.sandbox ? ", in a sandbox" : "");
  return {};
}

}  // namespace ioc_exporter::app
