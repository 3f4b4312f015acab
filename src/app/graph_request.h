// Answer of GET /graph, from a snapshot. Pure.
#pragma once

#include "records/families/samples.h"
#include "web/message.h"

namespace ioc_exporter::app {

// The query: record (or an alias of one), ioc (when several have it), depth, and format: "tree" for
// a page (also without format), "text" for the same tree in plain text, "dot". `links_counted`:
// whether --records.links is on. Status 400 for a query that makes no sense, 404 for what is not
// there; in words.
web::Response answer_graph(const std::vector<IocSample>& iocs, bool links_counted,
                           const web::Request& request);

}  // namespace ioc_exporter::app
