#include "base/trouble_log.h"

#include <utility>

#include "base/log.h"

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
