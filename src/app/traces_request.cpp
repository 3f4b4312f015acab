#include "app/traces_request.h"

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "app/follow_stream.h"
#include "exposition/json_text.h"
#include "traces/json.h"
#include "traces/trace_query.h"

namespace ioc_exporter::app {
namespace {

using Clock = std::chrono::steady_clock;
using traces::SharedTrace;
using traces::TraceRing;

// Time for matching patterns with traces in memory, for one answer.
constexpr std::chrono::seconds kMatchFor{2};
constexpr const char* kTooLong =
    "it takes too long to find these traces: ask for a shorter time, or by simpler patterns";

web::Response no_traces() {
  return refuse(404, "there are no traces: start ioc_exporter with --collector.traces");
}

void append_trace(std::string& text, const SharedTrace& trace) {
  text += "id: " + traces::id_text(trace->id) + "\ndata: ";
  traces::append_json(text, *trace);
}

// Following, and at its end that of the demands with the same ticket.
class DemandStream : public web::BodyStream {
 public:
  DemandStream(std::shared_ptr<web::BodyStream> stream, traces::DemandTaker& taker,
               std::string holder, std::string ticket)
      : stream_(std::move(stream)),
        taker_(taker),
        holder_(std::move(holder)),
        ticket_(std::move(ticket)) {}
  ~DemandStream() override { taker_.end(holder_, ticket_); }
  DemandStream(const DemandStream&) = delete;
  DemandStream& operator=(const DemandStream&) = delete;

  std::optional<std::string> next() override { return stream_->next(); }
  bool is_whole() const override { return stream_->is_whole(); }

 private:
  std::shared_ptr<web::BodyStream> stream_;
  traces::DemandTaker& taker_;
  const std::string holder_, ticket_;
};

}  // namespace

web::Response answer_traces(const std::shared_ptr<TraceRing>& ring, const web::Request& request,
                            traces::DemandTaker* taker) {
  if (!ring) return no_traces();
  auto query = traces::parse_trace_query(request.query, std::chrono::system_clock::now());
  if (!query) return refuse(400, query.error().message());
  if (query->follow && web::is_of_other_page(request)) return refuse_page();
  if (query->follow) {
    const auto until =
        query->lasts ? Clock::now() + *query->lasts + traces::kGrace : Clock::time_point::max();
    auto response = follow(ring, std::move(query->filter), query->since, request.remote, "traces",
                           append_trace, until);
    if (response.stream && taker != nullptr && !query->ticket.empty())
      response.stream = std::make_shared<DemandStream>(std::move(response.stream), *taker,
                                                       request.remote, std::move(query->ticket));
    return response;
  }
  const auto found =
      ring->find(query->filter, query->since, {}, query->limit, Clock::now() + kMatchFor);
  if (!found) return refuse(503, kTooLong);
  web::Response response;
  response.content_type = "application/x-ndjson";
  response.headers["Cache-Control"] = "no-store";
  for (const SharedTrace& trace : *found) {
    traces::append_json(response.body, *trace);
    response.body += '\n';
  }
  return response;
}

web::Response answer_demand(traces::DemandTaker* taker, const web::Request& request) {
  if (taker == nullptr) return no_traces();
  auto demand = traces::parse_demand(request.query);
  if (!demand) return refuse(400, demand.error().message());
  demand->holder = request.remote;
  const auto records = taker->ask(*demand);
  if (!records) return refuse(503, records.error().message());
  web::Response response;
  response.content_type = "application/json";
  {
    exposition::JsonObject object(response.body);
    object.number("records", *records);
    object.number("seconds", static_cast<double>(demand->lasts.count()) / 1000);
  }
  return response;
}

}  // namespace ioc_exporter::app
