// Answers of GET and POST /api/v1/traces and of the page /flame, from the traces in memory.
#pragma once

#include <memory>

#include "traces/demand.h"
#include "traces/ring.h"
#include "web/message.h"

namespace ioc_exporter::app {

inline constexpr const char* kFlamePath = "/flame";

// `ring`: null where there are no traces (status 404, in words); shared with who follows. A query
// is answered with lines of JSON, the oldest first; to follow, with server-sent events, until the
// time that the query names, where it does. Status 400 for a query that makes no sense, 403 for a
// page of another site that follows, 503 for too many who follow. `taker`, which outlives all
// streams, is told when who follows with ?demand= has gone; null: nobody.
web::Response answer_traces(const std::shared_ptr<traces::TraceRing>& ring,
                            const web::Request& request, traces::DemandTaker* taker = nullptr);

// Asks `taker` (null: there are no traces, status 404) for live traces; the answer is
// {"records":N,"seconds":S}. Status 503 where it does not take the demand. Who may ask is the
// server's to say.
web::Response answer_demand(traces::DemandTaker* taker, const web::Request& request);

// Own time of records by the way that led to them, over the traces in memory that the query
// (?record=&ioc=) names. Without scripts.
web::Response answer_flame_page(const std::shared_ptr<traces::TraceRing>& ring,
                                const web::Request& request);

}  // namespace ioc_exporter::app
