#include "base/log.h"

#include <spdlog/spdlog.h>

#include <utility>

namespace ioc_exporter {

bool TroubleLog::report(const std::string& action, const Result<void>& result) {
  if (result) {
    reported_.erase(action);
    return true;
  }
  std::string text = result.error().message();
  std::string& before = reported_[action];
  if (before != text) log::warn("{}: {}", action, text);
  before = std::move(text);
  return false;
}

}  // namespace ioc_exporter

namespace ioc_exporter::log {
void write(Level level, fmt::string_view format, fmt::format_args values) {
  const auto wanted = static_cast<spdlog::level::level_enum>(level);
  if (!spdlog::should_log(wanted)) return;
  spdlog::log(wanted, spdlog::string_view_t(fmt::vformat(format, values)));
}

}  // namespace ioc_exporter::log
