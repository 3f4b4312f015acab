// OtlpSink: puts as log records by OpenTelemetry's protocol over HTTP (POST /v1/logs, protobuf).
//
// Field numbers are those of opentelemetry-proto 1.x (logs/v1/logs.proto), which are stable.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "base/byte_buffer.h"
#include "delivery/otlp.h"
#include "delivery/receiver.h"
#include "putlog/sink.h"

namespace ioc_exporter::putlog {

// A request: resource logs for each IOC, a record for each entry. `entries`: with how many of the
// first ones it is large enough.
struct OtlpLogs {
  ByteBuffer protobuf;
  std::size_t entries = 0;
};
OtlpLogs otlp_logs(std::span<const Entry> entries, const delivery::otlp::Sender& sender);

class OtlpSink : public Sink {
 public:
  OtlpSink(delivery::HttpReceiver receiver, delivery::otlp::Sender sender)
      : receiver_(std::move(receiver)), sender_(std::move(sender)) {}

  Delivered deliver(std::span<const Entry> entries) override;

 private:
  const delivery::HttpReceiver receiver_;
  const delivery::otlp::Sender sender_;
};

}  // namespace ioc_exporter::putlog
