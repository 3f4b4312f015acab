#include "putlog/fanout.h"

#include <utility>

namespace ioc_exporter::putlog {

Fanout::Fanout(Privacy privacy, Ring& ring, std::vector<SinkSetup> sinks)
    : privacy_(std::move(privacy)), ring_(ring) {
  for (SinkSetup& sink : sinks) sinks_.push_back(std::make_unique<SinkRunner>(std::move(sink)));
}

Fanout::~Fanout() {
  for (const auto& sink : sinks_) sink->begin_end();
}

void Fanout::receive(std::span<const PutEvent> events) {
  std::vector<SharedEvent> shared;
  shared.reserve(events.size());
  for (const PutEvent& event : events) {
    auto own = std::make_shared<PutEvent>(event);
    privacy_.apply(*own);
    shared.push_back(std::move(own));
  }
  ring_.add(shared);
  for (const auto& sink : sinks_) sink->receive(shared);
}

std::vector<SinkSample> Fanout::samples() const {
  std::vector<SinkSample> all;
  for (const auto& sink : sinks_) all.push_back(sink->sample());
  return all;
}

}  // namespace ioc_exporter::putlog
