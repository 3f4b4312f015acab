// The page at "/": what runs, which IOCs are seen, where the metrics are. HTML without scripts and
// without anything from elsewhere.
#pragma once

#include <string>

#include "exposition/status_page.h"

namespace ioc_exporter::web {

inline constexpr const char* kHtmlContentType = "text/html; charset=utf-8";

// All texts are escaped; any bytes are safe in them.
std::string render_landing_page(const exposition::StatusPage& page);

}  // namespace ioc_exporter::web
