// A RecordGraph as text in Graphviz' DOT language.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "records/graph.h"

namespace ioc_exporter::records {

// `records`: one for each node, in the same order. Any bytes may be in their names.
std::string to_dot(const RecordGraph& graph, const std::vector<GraphRecord>& records);

// `text` as it stands between the quotes of a DOT string that is shown as it is: nothing in it is
// an escape, an entity, or a character that XML forbids. Bytes that are no UTF-8 and control
// characters become \xNN.
std::string dot_text(std::string_view text);

// "1.24 ms"
std::string duration_text(double seconds);

}  // namespace ioc_exporter::records
