#include "traces/outlets.h"

#include <chrono>

#include "traces/json.h"
#include "traces/otlp_sink.h"
#include "traces/zipkin_sink.h"

namespace ioc_exporter::traces {
namespace {

// A server gets many traces in one request; a file gets each trace at once.
constexpr std::chrono::milliseconds kServerWindow{1000}, kFileWindow{0};

}  // namespace

Result<std::unique_ptr<Outlets>> Outlets::make(const OutletOptions& options,
                                               const std::string& version) {
  std::unique_ptr<Outlets> outlets(new Outlets());
  for (const SinkOptions& each : options.all_sinks()) {
    auto sink = outlets->make_sink(each, version);
    if (!sink) return std::move(sink).error();
    SinkSetup setup{.name = each.name,
                    .filter = each.filter,
                    .window = each.file.empty() ? kServerWindow : kFileWindow};
    setup.sink = std::move(*sink);
    outlets->add(std::move(setup));
  }
  return outlets;
}

Result<std::unique_ptr<Sink>> Outlets::make_sink(const SinkOptions& options,
                                                 const std::string& version) {
  using Made = std::unique_ptr<Sink>;
  if (!options.file.empty())
    return make_file_sink(
        options, [](std::string& out, const SharedTrace& trace) { append_json(out, *trace); });
  auto http = delivery::open_receiver(options.zipkin.empty() ? options.otlp : options.zipkin,
                                      options.receiver);
  if (!http) return std::move(http).error();
  Receiver receiver{std::move(*http), *options.names};
  if (!options.zipkin.empty()) return Made(std::make_unique<ZipkinSink>(std::move(receiver)));
  return Made(std::make_unique<OtlpSink>(std::move(receiver), Sender::of_this_host(version)));
}

}  // namespace ioc_exporter::traces
