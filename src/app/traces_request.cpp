#include "app/traces_request.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/follow_stream.h"
#include "base/query.h"
#include "exposition/json_text.h"
#include "traces/flame.h"
#include "traces/json.h"
#include "traces/trace_query.h"
#include "web/page.h"

namespace ioc_exporter::app {
namespace {

using Clock = std::chrono::steady_clock;
using traces::Flame;
using traces::SharedTrace;
using traces::TraceRing;

// Time for matching patterns with traces in memory, for one answer.
constexpr std::chrono::seconds kMatchFor{2};
constexpr const char* kTooLong =
    "it takes too long to find these traces: ask for a shorter time, or by simpler patterns";
// How long traces are put together for one page, the newest first.
constexpr std::chrono::milliseconds kDrawFor{500};
// Narrower boxes are not drawn.
constexpr double kNarrowest = 0.001;

web::Response no_traces() {
  return refuse(404, "there are no traces: start ioc_exporter with --collector.traces");
}

void append_trace(std::string& text, const SharedTrace& trace) {
  text += "id: " + traces::id_text(trace->id) + "\ndata: ";
  traces::append_json(text, *trace);
}

std::string milliseconds_text(traces::Duration duration) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3f ms", static_cast<double>(duration.count()) / 1e6);
  return text;
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

// A record's name as a regular expression for itself alone.
std::string quoted_pattern(const std::string& name) {
  std::string quoted;
  for (const char c : name) {
    if (std::string_view("\\.+*?()|[]{}^$").find(c) != std::string_view::npos) quoted += '\\';
    quoted += c;
  }
  return quoted;
}

// Frames stand before those below them, so the last ones are done first.
web::FlameFrame page_frame(const Flame& flame, const std::string& ioc) {
  const std::vector<Flame::Frame> frames = flame.frames();
  std::vector<web::FlameFrame> made(frames.size());
  const double whole = static_cast<double>(frames.front().whole.count());
  const double least = whole * kNarrowest;
  for (std::size_t i = frames.size(); i-- > 0;) {
    const Flame::Frame& frame = frames[i];
    web::FlameFrame& one = made[i];
    one.name = frame.name;
    one.part = static_cast<double>(frame.whole.count());
    one.title = frame.name + ": " + milliseconds_text(frame.whole) + ", own " +
                milliseconds_text(frame.self) + ", " + std::to_string(frame.calls) + " times";
    if (frame.depth > 2) {
      one.link = std::string(kFlamePath) + "?record=" + percent_encoded(quoted_pattern(frame.name));
      if (!ioc.empty()) one.link += "&ioc=" + percent_encoded(ioc);
    }
    for (const auto& [name, below] : frame.below)
      if (made[below].part >= least && made[below].part > 0)
        one.below.push_back(std::move(made[below]));
  }
  made.front().name = "all";
  made.front().title = "all: " + milliseconds_text(frames.front().whole);
  return std::move(made.front());
}

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
      ring->find(query->filter, query->since, query->limit, Clock::now() + kMatchFor);
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

web::Response answer_flame_page(const std::shared_ptr<TraceRing>& ring,
                                const web::Request& request) {
  if (!ring) return no_traces();
  web::FlamePage page;
  page.record = query_value(request.query, "record").value_or("");
  page.ioc = query_value(request.query, "ioc").value_or("");
  const auto query = traces::parse_trace_query(request.query, std::chrono::system_clock::now());
  if (query) {
    const auto found =
        ring->find(query->filter, query->since, query->limit, Clock::now() + kMatchFor);
    if (!found) return refuse(503, kTooLong);
    Flame flame;
    const auto until = Clock::now() + kDrawFor;
    for (auto trace = found->rbegin(); trace != found->rend() && Clock::now() < until; ++trace)
      flame.add(**trace);
    page.traces = flame.traces();
    page.all = page_frame(flame, page.ioc);
  } else {
    page.problem = query.error().message();
  }
  web::Response response{query ? 200 : 400, web::kHtmlContentType, web::render_flame_page(page)};
  response.headers["Cache-Control"] = "no-store";
  response.headers["Content-Security-Policy"] =
      "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; "
      "frame-ancestors 'none'";
  return response;
}

}  // namespace ioc_exporter::app
