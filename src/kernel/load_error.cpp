#include "kernel/load_error.h"

#include <unistd.h>

namespace ioc_exporter::kernel {

std::string explain_load_error(const std::string& probe, const Error& error) {
  const bool denied = error.code == std::errc::operation_not_permitted ||
                      error.code == std::errc::permission_denied;
  if (denied && ::geteuid() != 0)
    return "load probe " + probe + ": " + error.code.message() +
           ": not root (run ioc_exporter as root)";
  return error.message();
}

bool has_btf() {
  return ::access("/sys/kernel/btf/vmlinux", F_OK) == 0;
}

}  // namespace ioc_exporter::kernel
