#include "traces/outlets.h"

#include <chrono>

#include "delivery/otlp.h"
#include "delivery/receiver_options.h"
#include "traces/json.h"
#include "traces/otlp_sink.h"
#include "traces/zipkin_sink.h"

namespace ioc_exporter::traces {
namespace {

// Servers are asked once for many traces; who reads a file sees each at once.
constexpr std::chrono::milliseconds kServerWindow{1000}, kFileWindow{0};

}  // namespace

Result<std::unique_ptr<Outlets>> Outlets::make(const OutletOptions& options,
                                               const std::string& version) {
  std::unique_ptr<Outlets> outlets(new Outlets());
  for (const SinkOptions& each : options.all_sinks()) {
    auto sink = outlets->make_sink(each, version);
    if (!sink) return std::move(sink).error();
    SinkSetup setup{.name = each.name, .filter = each.filter};
    setup.sink = std::move(*sink);
    outlets->sinks_.push_back(std::make_unique<SinkRunner>(
        std::move(setup), Batch(each.file.empty() ? kServerWindow : kFileWindow)));
  }
  return outlets;
}

Result<std::unique_ptr<Sink>> Outlets::make_sink(const SinkOptions& options,
                                                 const std::string& version) {
  using Made = std::unique_ptr<Sink>;
  if (!options.file.empty()) {
    auto sink = std::make_unique<delivery::FileSink<SharedTrace>>(
        options.file, delivery::FileBounds{options.size, options.age},
        files_.add({options.file, options.count}),
        [](std::string& out, const SharedTrace& trace) { append_json(out, *trace); });
    file_sinks_.push_back(sink.get());
    return Made(std::move(sink));
  }
  auto http = delivery::open_receiver(
      TraceKind::kLog, options.zipkin.empty() ? options.otlp : options.zipkin, options.receiver);
  if (!http) return std::move(http).error();
  Receiver receiver{std::move(*http), *options.names};
  if (!options.zipkin.empty()) return Made(std::make_unique<ZipkinSink>(std::move(receiver)));
  return Made(std::make_unique<OtlpSink>(std::move(receiver),
                                         delivery::otlp::Sender::of_this_host(version)));
}

Outlets::~Outlets() {
  for (const auto& sink : sinks_) sink->begin_end();
}

void Outlets::receive(std::span<const SharedTrace> traces) {
  for (const auto& sink : sinks_) sink->receive(traces);
}

std::vector<SinkSample> Outlets::samples() const {
  std::vector<SinkSample> all;
  for (const auto& sink : sinks_) all.push_back(sink->sample());
  return all;
}

Result<void> Outlets::open_files() {
  for (auto* sink : file_sinks_)
    if (auto opened = sink->open(); !opened) return opened;
  return {};
}

}  // namespace ioc_exporter::traces
