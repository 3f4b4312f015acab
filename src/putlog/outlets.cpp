#include "putlog/outlets.h"

#include <optional>
#include <utility>

#include "putlog/json.h"
#include "putlog/loki_sink.h"
#include "putlog/tcp_sink.h"

namespace ioc_exporter::putlog {

Result<std::unique_ptr<Outlets>> Outlets::make(const OutletOptions& options) {
  std::optional<std::string> salt;
  if (!options.salt_file.empty()) {
    auto read = Privacy::read_salt(options.salt_file);
    if (!read) return std::move(read).error();
    salt = std::move(*read);
  }
  auto outlets = std::make_unique<Outlets>(
      Privacy(options.hidden_values, std::move(salt)),
      delivery::RingBounds{options.memory_events, static_cast<std::size_t>(options.memory_bytes)});
  for (const SinkOptions& each : options.all_sinks()) {
    if (outlets->file_.empty()) outlets->file_ = each.file;
    auto sink = outlets->make_sink(each);
    if (!sink) return std::move(sink).error();
    SinkSetup setup{.name = each.name, .filter = each.filter, .window = *each.burst};
    setup.sink = std::move(*sink);
    outlets->add(std::move(setup));
  }
  return outlets;
}

Result<std::unique_ptr<Sink>> Outlets::make_sink(const SinkOptions& options) {
  using Made = std::unique_ptr<Sink>;
  if (!options.file.empty()) return make_file_sink(options, append_json);
  if (!options.loki.empty()) {
    auto receiver = delivery::open_receiver(options.loki, options.receiver);
    if (!receiver) return std::move(receiver).error();
    return Made(std::make_unique<LokiSink>(std::move(*receiver), options.metadata));
  }
  const auto place = delivery::parse_host_and_port(options.tcp);
  if (!place) return place.error();
  return Made(std::make_unique<TcpSink>(
      place->host, place->port, options.full_lines ? LineFormat::full : LineFormat::caputlog));
}

void Outlets::receive(std::span<const PutEvent> events) {
  std::vector<SharedEvent> shared;
  shared.reserve(events.size());
  for (const PutEvent& event : events) {
    auto own = std::make_shared<PutEvent>(event);
    privacy_.apply(*own);
    shared.push_back(std::move(own));
  }
  if (!shared.empty()) ring_->add(shared);
  give(shared);
}

std::vector<SinkSample> Outlets::samples() const {
  std::vector<SinkSample> all = sink_samples();
  all.push_back(ring_->sample());
  return all;
}

}  // namespace ioc_exporter::putlog
