#include "app/version.h"

#include <sys/utsname.h>

#include "kernel/libbpf_support.h"
#include "kernel/load_error.h"
#include "kernel/uprobe.h"
#include "web/server.h"

namespace ioc_exporter::app {
namespace {

std::string kernel_text() {
  utsname kernel{};
  if (::uname(&kernel) != 0) return "not known";
  std::string text = std::string("Linux ") + kernel.release + " " + kernel.machine;
  const auto add = [&text](bool there, const char* what) {
    text.append(there ? ", " : ", no ").append(what);
  };
  add(kernel::has_btf(), "BTF");
  add(kernel::uprobe_link_type().has_value(), "uprobe links");
  add(kernel::allocates_entries_on_demand(), "entries of tables on demand");
  return text;
}

}  // namespace

BuildInfo build_info() {
  return {IOC_EXPORTER_VERSION, IOC_EXPORTER_REVISION, IOC_EXPORTER_COMPILER};
}

std::string version_text() {
  const BuildInfo info = build_info();
  const std::string date = IOC_EXPORTER_DATE;
  std::string text = "ioc_exporter " + info.version + " (";
  if (!info.revision.empty()) text += "revision " + info.revision + ", ";
  if (!date.empty()) text += date + ", ";
  text += info.compiler + ")\n";
  return text + "  HTTP server: " + web::http_library() + "\n  kernel: " + kernel_text() + "\n";
}

}  // namespace ioc_exporter::app
