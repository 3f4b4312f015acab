// Answers of GET /api/v1/puts and of the page /puts, from the put log's memory.
#pragma once

#include <memory>

#include "putlog/ring.h"
#include "web/message.h"

namespace ioc_exporter::app {

inline constexpr const char* kPutsPagePath = "/puts";
inline constexpr const char* kPutsScriptPath = "/puts.js";

// `ring`: null where there is no put log (status 404, in words); shared with followers. A query is
// answered with lines of JSON, the oldest first; with follow=1, by server-sent events: "data" is
// the same line, "id" its sequence number, and an event "lost" ends the stream of a follower that
// was too slow. Where `since` is before what memory has, the first line is
// {"reaches_back_to":TIME}. Status 400 for an invalid query, 503 for too many followers, and for a
// search that takes too long.
web::Response answer_puts(const std::shared_ptr<putlog::Ring>& ring, const web::Request& request);

// The page shows the newest puts and, by its own script, new ones.
web::Response answer_puts_page(const std::shared_ptr<putlog::Ring>& ring,
                               const web::Request& request);
web::Response answer_puts_script();

}  // namespace ioc_exporter::app
