// The exporter's own pages, in HTML without anything from elsewhere; only the one at /puts has a
// script, the exporter's own. All texts are escaped; any bytes are safe in them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "exposition/status_page.h"

namespace ioc_exporter::web {

inline constexpr const char* kHtmlContentType = "text/html; charset=utf-8";

// At "/": version, IOCs, tables, links.
std::string render_landing_page(const exposition::StatusPage& page);
// At /kernel: probes, and the tables that the kernel keeps.
std::string render_kernel_page(const exposition::StatusPage& page);

// At /puts: live puts, or those since a time that are in memory.
struct PutsPage {
  std::string origin;                   // of this host, for the heading
  std::string pv, client, user, since;  // as asked for; in the form
  bool unexpected = false, inside = false;
  std::string problem;            // of the query
  std::vector<std::string> puts;  // a JSON object each, the newest first
};

// The puts stand in it as data, which the script shows as it does those that
// come; without a script they stand as they are.
std::string render_puts_page(const PutsPage& page);

std::string_view puts_script();

}  // namespace ioc_exporter::web
