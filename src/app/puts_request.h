// Answers of GET /api/v1/puts and of the page /puts, from the put log's memory and its store.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "putlog/ring.h"
#include "putlog/store.h"
#include "web/message.h"

namespace ioc_exporter::app {

inline constexpr const char* kPutsPagePath = "/puts";
inline constexpr const char* kPutsScriptPath = "/puts.js";

// `ring`: null where there is no put log (status 404, in words); shared with followers. A query is
// answered with lines of JSON, the oldest first; with follow=1, by server-sent events: "data" is
// the same line, "id" its sequence number, and an event "lost" ends the stream of a follower that
// was too slow. With `since`, older puts come from the store (null: none); where it cannot be read,
// or does not answer for two seconds, the last line is {"error":"..."}. Status 400 for an invalid
// query, 503 for too many followers or questions to the store.
using AskStore = std::function<Result<UniqueFd>(const std::string& question)>;
web::Response answer_puts(const std::shared_ptr<putlog::Ring>& ring, const AskStore& ask_store,
                          const web::Request& request);

// The page shows the newest puts and, by its own script, new ones.
web::Response answer_puts_page(const std::shared_ptr<putlog::Ring>& ring,
                               const web::Request& request);
web::Response answer_puts_script();

}  // namespace ioc_exporter::app
