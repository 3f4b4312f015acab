// OtlpSink: spans by OpenTelemetry's protocol over HTTP (POST /v1/traces, protobuf), which an
// OpenTelemetry Collector, Jaeger and Tempo take.
//
// Field numbers are those of opentelemetry-proto 1.x (common/v1, resource/v1, trace/v1,
// collector/trace/v1), which are stable.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "base/byte_buffer.h"
#include "traces/sink.h"

namespace ioc_exporter::traces {

// The sender of a request.
struct Sender {
  std::string host, version;
  // Of this host.
  static Sender of_this_host(const std::string& version);
};

// A request: resource spans for each process. `traces`: with how many of the first ones it is large
// enough.
struct OtlpBody {
  ByteBuffer protobuf;
  std::size_t traces = 0;
};
OtlpBody otlp_body(std::span<const SharedTrace> traces, SpanNames names, const Sender& sender);

class OtlpSink : public Sink {
 public:
  OtlpSink(Receiver receiver, Sender sender)
      : receiver_(std::move(receiver)), sender_(std::move(sender)) {}

  Delivered deliver(std::span<const SharedTrace> traces) override;

 private:
  const Receiver receiver_;
  const Sender sender_;
};

}  // namespace ioc_exporter::traces
