// Sets up spdlog's default logger: one line an event on stderr, as logfmt or JSON.
#pragma once

#include <string>
#include <string_view>

#include "app/options.h"

namespace ioc_exporter::app {

void set_up_logging(const std::string& level, LogFormat format);

// `text` as a quoted string of logfmt and JSON alike: quotes, backslashes and control characters
// escaped.
std::string quoted(std::string_view text);

}  // namespace ioc_exporter::app
