// What GET /graph answers, from a snapshot. Pure, but for the drawing.
#pragma once

#include "web/message.h"
#include "base/samples.h"

namespace ioc_exporter::app {

inline constexpr const char* kGraphPath = "/graph";

// The query: record (or an alias of one), ioc (when several have it), depth, and format: "svg",
// "dot", or none for a page. `links_counted`: whether --records.links is on. Status 400 for a query
// that makes no sense, 404 for what is not there; in words.
web::Response answer_graph(const Snapshot& snapshot, bool links_counted,
                            const web::Request& request);

}  // namespace ioc_exporter::app
