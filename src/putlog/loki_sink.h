// LokiSink: lines to Loki's HTTP API (POST /loki/api/v1/push), which acknowledges each push.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "delivery/receiver.h"
#include "putlog/sink.h"

namespace ioc_exporter::putlog {

// A push: a stream for each IOC. `entries`: with how many of the first ones it is large enough.
struct LokiPush {
  std::string body;
  std::size_t entries = 0;
};
LokiPush loki_push(std::span<const Entry> entries, bool metadata);

class LokiSink : public Sink {
 public:
  // `metadata`: pv, user and client as structured metadata.
  LokiSink(delivery::HttpReceiver receiver, bool metadata)
      : receiver_(std::move(receiver)), metadata_(metadata) {}

  Delivered deliver(std::span<const Entry> entries) override;

 private:
  const delivery::HttpReceiver receiver_;
  const bool metadata_;
};

}  // namespace ioc_exporter::putlog
