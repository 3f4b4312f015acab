// Answers of GET and POST /api/v1/traces from the traces in memory.
#pragma once

#include <memory>

#include "traces/demand.h"
#include "traces/ring.h"
#include "web/message.h"

namespace ioc_exporter::app {

// `ring`: null where there are no traces (status 404, in words); shared with followers. A query is
// answered with lines of JSON, the oldest first; with follow=1, by server-sent events until the
// time in the query, if it has one. Status 400 for an invalid query, 403 for a follower that is a
// page of another site, 503 for too many followers. `taker`, which outlives all streams, learns
// when a follower with ?demand= has gone; it may be null.
web::Response answer_traces(const std::shared_ptr<traces::TraceRing>& ring,
                            const web::Request& request, traces::DemandTaker* taker = nullptr);

// Asks `taker` (null: there are no traces, status 404) for live traces; the answer is
// {"records":N,"seconds":S}. Status 503 where it does not take the demand. The server has
// checked that the client may ask.
web::Response answer_demand(traces::DemandTaker* taker, const web::Request& request);

}  // namespace ioc_exporter::app
