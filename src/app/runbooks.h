// The pages of docs/runbooks, which alerts link to: every exporter serves those of its own version.
#pragma once

#include <span>
#include <string_view>

namespace ioc_exporter::app {

struct Runbook {
  std::string_view name;  // of the alert
  std::string_view text;  // Markdown
};

inline constexpr const char* kRunbooksPath = "/runbooks/";

std::span<const Runbook> runbooks();

}  // namespace ioc_exporter::app
