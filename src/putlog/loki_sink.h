// LokiSink: lines to Loki's HTTP API (POST /loki/api/v1/push), which acknowledges each push.
#pragma once

#include <string>

#include "base/http_client.h"
#include "putlog/sink.h"

namespace ioc_exporter::putlog {

struct LokiOptions {
  std::string url;       // "http://loki:3100"
  std::string login;     // "USER:PASSWORD", "" = none
  std::string tenant;    // X-Scope-OrgID, "" = none
  bool metadata = true;  // pv, user and client as structured metadata
};

// A push: a stream for each IOC. `entries`: with how many of the first ones it is large enough.
struct LokiPush {
  std::string body;
  std::size_t entries = 0;
};
LokiPush loki_push(std::span<const Entry> entries, bool metadata);

class LokiSink : public Sink {
 public:
  explicit LokiSink(LokiOptions options) : options_(std::move(options)) {}

  Delivered deliver(std::span<const Entry> entries) override;

 private:
  const LokiOptions options_;
};

}  // namespace ioc_exporter::putlog
