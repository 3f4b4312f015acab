#include "base/log.h"

#include <spdlog/spdlog.h>

namespace ioc_exporter::log {
namespace {

spdlog::level::level_enum of_spdlog(Level level) {
  switch (level) {
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warn:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

}  // namespace

void write(Level level, fmt::string_view format, fmt::format_args values) {
  const auto wanted = of_spdlog(level);
  if (!spdlog::should_log(wanted)) return;
  spdlog::log(wanted, spdlog::string_view_t(fmt::vformat(format, values)));
}

}  // namespace ioc_exporter::log
