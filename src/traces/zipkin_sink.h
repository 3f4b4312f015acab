// ZipkinSink: spans to Zipkin's HTTP API (POST /api/v2/spans, JSON), which acknowledges each
// request.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "traces/sink.h"

namespace ioc_exporter::traces {

// `traces`: with how many of the first ones it is large enough.
struct ZipkinBody {
  std::string json;
  std::size_t traces = 0;
};
ZipkinBody zipkin_body(std::span<const SharedTrace> traces, SpanNames names);

class ZipkinSink : public Sink {
 public:
  explicit ZipkinSink(Receiver receiver) : receiver_(std::move(receiver)) {}

  Delivered deliver(std::span<const SharedTrace> traces) override;

 private:
  const Receiver receiver_;
};

}  // namespace ioc_exporter::traces
