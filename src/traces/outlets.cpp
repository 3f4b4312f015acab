#include "traces/outlets.h"

#include <sys/utsname.h>

#include <chrono>

#include "base/command_line.h"
#include "delivery/receiver.h"
#include "traces/json.h"
#include "traces/otlp_sink.h"
#include "traces/zipkin_sink.h"

namespace ioc_exporter::traces {
namespace {

// Servers are asked once for many traces; who reads a file sees each at once.
constexpr std::chrono::milliseconds kServerWindow{1000}, kFileWindow{0};

std::string host_name() {
  utsname host{};
  return ::uname(&host) == 0 ? host.nodename : "";
}

Result<Receiver> receiver_of(const SinkOptions& options) {
  Receiver receiver;
  receiver.url = options.zipkin.empty() ? options.otlp : options.zipkin;
  if (receiver.url.starts_with("https://") && !TlsClient::is_there())
    return error_in_words("traces: " + receiver.url +
                          ": this ioc_exporter does not speak TLS (that of a release does)");
  auto login = read_login(options.login_file);
  if (!login) return std::move(login).error();
  receiver.login = std::move(*login);
  receiver.tls.authorities = options.ca_file;
  receiver.headers = options.headers;
  if (!options.tenant.empty()) receiver.headers["X-Scope-OrgID"] = options.tenant;
  receiver.names = *options.names;
  delivery::look_up_host_of(receiver.url, TraceKind::kLog);
  return receiver;
}

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
  auto receiver = receiver_of(options);
  if (!receiver) return std::move(receiver).error();
  if (!options.zipkin.empty()) return Made(std::make_unique<ZipkinSink>(std::move(*receiver)));
  return Made(std::make_unique<OtlpSink>(std::move(*receiver), OtlpSender{host_name(), version}));
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
