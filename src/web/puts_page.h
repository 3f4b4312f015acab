// The page at /puts: what is written, live. Its script is the exporter's own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "web/landing_page.h"

namespace ioc_exporter::web {

struct PutsPage {
  std::string pv, client, user;  // as asked for; in the form
  bool unexpected = false;
  std::string problem;            // with what was asked
  std::vector<std::string> puts;  // a JSON object each, the newest first
};

// All texts are escaped. The puts stand in it as data, which the script shows as it does those that
// come; without a script they stand as they are.
std::string render_puts_page(const PutsPage& page);

std::string_view puts_script();

}  // namespace ioc_exporter::web
