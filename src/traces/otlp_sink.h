// OtlpSink: spans by OpenTelemetry's protocol over HTTP (POST /v1/traces, protobuf), which an
// OpenTelemetry Collector, Jaeger and Tempo take.
//
// Field numbers are those of opentelemetry-proto 1.x (trace/v1/trace.proto), which are stable.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "base/byte_buffer.h"
#include "traces/otlp.h"
#include "traces/sink.h"

namespace ioc_exporter::traces {

// A request: resource spans for each process. `traces`: with how many of the first ones it is large
// enough.
struct OtlpBody {
  ByteBuffer protobuf;
  std::size_t traces = 0;
};
OtlpBody otlp_body(std::span<const SharedTrace> traces, SpanNames names,
                   const otlp::Sender& sender);

class OtlpSink : public Sink {
 public:
  OtlpSink(Receiver receiver, otlp::Sender sender)
      : receiver_(std::move(receiver)), sender_(std::move(sender)) {}

  Delivered deliver(std::span<const SharedTrace> traces) override;

 private:
  const Receiver receiver_;
  const otlp::Sender sender_;
};

}  // namespace ioc_exporter::traces
