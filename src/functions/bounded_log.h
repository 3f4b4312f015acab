// BoundedLog: lines that others decide about, who may have as many as they like: each text once,
// and a bounded number a minute.
#pragma once

#include <set>
#include <string>

#include "base/log.h"

namespace ioc_exporter::functions {

// Not thread-safe.
class BoundedLog {
 public:
  static constexpr std::uint64_t kMostLines = 60;  // a minute

  void warn(const std::string& text) {
    if (said_.size() >= kMostSaid) said_.clear();
    if (said_.contains(text) || !lines_.allows(LogBound::Clock::now())) return;
    said_.insert(text);
    log::warn("{}", text);
    if (const auto left_out = lines_.take_left_out())
      log::warn("{} more lines about functions were left out", left_out);
  }

 private:
  static constexpr std::size_t kMostSaid = 1024;
  std::set<std::string> said_;
  LogBound lines_{kMostLines};
};

}  // namespace ioc_exporter::functions
