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

// `ring`: null where there is no put log (status 404, in words); shared with who follows. A query
// is answered with lines of JSON, the oldest first; to follow, with server-sent events: "data" is
// the same line, "id" its sequence number, and an event "lost" says that the follower was too slow,
// and ends. Since a time, the store (null: none) has what memory has no more; where it cannot be
// read, or says nothing for two seconds, the last line is {"error":"..."}. Status 400 for a query
// that makes no sense, 503 for too many who follow, or ask the store.
using AskStore = std::function<Result<UniqueFd>(const std::string& question)>;
web::Response answer_puts(const std::shared_ptr<putlog::Ring>& ring, const AskStore& ask_store,
                          const web::Request& request);

// The page shows the newest, and with its script (of our own) those that come.
web::Response answer_puts_page(const std::shared_ptr<putlog::Ring>& ring,
                               const web::Request& request);
web::Response answer_puts_script();

}  // namespace ioc_exporter::app
