// In place of svg.cpp where there is no Graphviz.
#include "records/graph_svg.h"

namespace ioc_exporter::records {

bool can_draw() {
  return false;
}

Result<std::string> draw_svg(const std::string&) {
  return error_in_words("draw a picture: ioc_exporter was built without Graphviz");
}

}  // namespace ioc_exporter::records
