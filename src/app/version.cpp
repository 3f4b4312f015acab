#include "app/version.h"

namespace ioc_exporter::app {

BuildInfo build_info() {
  return {IOC_EXPORTER_VERSION, IOC_EXPORTER_REVISION, IOC_EXPORTER_COMPILER};
}

std::string version_text() {
  const BuildInfo info = build_info();
  std::string text = "ioc_exporter " + info.version + " (";
  if (!info.revision.empty()) text += "revision " + info.revision + ", ";
  return text + info.compiler + ")\n";
}

}  // namespace ioc_exporter::app
