// A picture of DOT text, by Graphviz' library.
#pragma once

#include <string>

#include "base/result.h"

namespace ioc_exporter::records {

// Whether this program was built with Graphviz.
bool can_draw();

// An SVG element, "<svg ...>...</svg>", that stands in a page as well as in a file. One picture is
// made at a time: the library has global state.
Result<std::string> draw_svg(const std::string& dot);

}  // namespace ioc_exporter::records
