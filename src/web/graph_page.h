// The page at /graph: a form, and the records as an indented tree in a table.
#pragma once

#include <string>
#include <vector>

#include "web/landing_page.h"

namespace ioc_exporter::web {

struct GraphPage {
  std::string record, ioc, depth;             // as asked for; in the form
  std::string heading;                        // "" before something was asked for
  std::vector<std::string> notes;             // under the heading
  std::vector<exposition::StatusLink> links;  // the same in other formats
  exposition::StatusTable records;
};

// All texts are escaped.
std::string render_graph_page(const GraphPage& page);

}  // namespace ioc_exporter::web
