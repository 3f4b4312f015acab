#include "traces/outlet_options.h"

#include <algorithm>
#include <utility>

#include "base/value_text.h"
#include "base/yaml_reader.h"
#include "delivery/line_file.h"
#include "delivery/receiver.h"

namespace ioc_exporter::traces {
namespace {

constexpr std::uint32_t kMostTraces = 1'000'000;

Result<void> check_zipkin(const std::string& url) {
  return url.empty() ? Result<void>() : delivery::check_url(url, "http://zipkin:9411");
}

Result<void> check_otlp(const std::string& url) {
  return url.empty() ? Result<void>() : delivery::check_url(url, "http://collector:4318");
}

OptionValue span_names(SpanNames& into) {
  return one_of<SpanNames>(into, {{"record", SpanNames::record}, {"type", SpanNames::type}});
}

void read_sink(Reader& item, OutletOptions& options) {
  SinkOptions sink;
  delivery::read_sink(item, sink);
  item.set("zipkin", text(sink.zipkin, check_zipkin));
  item.set("otlp", text(sink.otlp, check_otlp));
  if (item.has("span_names")) item.set("span_names", span_names(sink.names.emplace()));
  item.set("record", pattern(sink.filter.record));
  item.set("ioc", pattern(sink.filter.ioc));
  item.set("cause", text(sink.filter.cause));
  std::optional<std::chrono::milliseconds> slower;
  item.set("slower", duration(slower));
  sink.filter.slower = slower;
  if (item.has("file") + item.has("zipkin") + item.has("otlp") != 1)
    return item.complain("file", "a sink has one of file, zipkin and otlp");
  options.sinks.push_back(std::move(sink));
}

}  // namespace

std::vector<SinkOptions> OutletOptions::all_sinks() const {
  std::vector<SinkOptions> all;
  if (!file.file.empty()) all.push_back(file);
  if (!zipkin.zipkin.empty()) all.push_back(zipkin);
  if (!otlp.otlp.empty()) all.push_back(otlp);
  all.insert(all.end(), sinks.begin(), sinks.end());
  delivery::name_sinks(all);
  for (SinkOptions& sink : all)
    if (!sink.names) sink.names = names;
  return all;
}

void add_outlet_options(OptionTable& table, OutletOptions& options) {
  table.add(
      "Traces",
      {{"traces.kept=N", "Newest traces in memory, for ioc_exporter trace",
        whole_number(options.memory_traces, 1, kMostTraces)},
       {"traces.memory=BYTES", "Memory for these traces", bytes(options.memory_bytes)},
       {"--traces.zipkin=URL traces.zipkin", "Zipkin, such as http://zipkin:9411",
        text(options.zipkin.zipkin, check_zipkin)},
       {"--traces.otlp=URL traces.otlp",
        "OpenTelemetry Collector, Jaeger or Tempo (OTLP over HTTP), such as http://collector:4318",
        text(options.otlp.otlp, check_otlp)}});
  table.add("Traces", delivery::file_rows("traces", "traces", options.file));
  table.add("Traces", {{"traces.span_names=KIND",
                        "Names of spans: record, or type where a receiver indexes names",
                        span_names(options.names)}});
}

void read_sinks(Reader& section, OutletOptions& options) {
  section.list("sinks", [&options](Reader& item) { read_sink(item, options); });
}

}  // namespace ioc_exporter::traces
