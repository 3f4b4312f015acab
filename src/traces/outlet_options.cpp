#include "traces/outlet_options.h"

#include <algorithm>
#include <utility>

#include "base/value_text.h"
#include "base/yaml_reader.h"
#include "delivery/log_file.h"
#include "delivery/receiver.h"

namespace ioc_exporter::traces {
namespace {

Result<void> check_zipkin(const std::string& url) {
  if (url.empty()) return {};
  return delivery::check_url(url, true, "http://zipkin:9411");
}

void read_sink(Reader& item, OutletOptions& options) {
  SinkOptions sink;
  delivery::read_sink(item, sink);
  item.check("zipkin", [&](const std::string& text) { return check_zipkin(sink.zipkin = text); });
  item.check("span_names", [&](const std::string& text) -> Result<void> {
    sink.names = text == "type" ? SpanNames::type : SpanNames::record;
    if (text == "type" || text == "record") return {};
    return none_of(text, {"record", "type"});
  });
  sink.filter.record = item.pattern("record");
  sink.filter.ioc = item.pattern("ioc");
  sink.filter.cause = item.text("cause").value_or("");
  if (const auto slower = item.duration("slower")) sink.filter.slower = *slower;
  if (!sink.file.empty() + !sink.zipkin.empty() + !sink.otlp.empty() != 1)
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
  table.add("Traces",
            {{.flag = "traces.zipkin",
              .argument = "URL",
              .key = "traces.zipkin",
              .help = "Zipkin, such as http://zipkin:9411",
              .value = text(options.zipkin.zipkin, check_zipkin)},
             {.flag = "traces.otlp",
              .argument = "URL",
              .key = "traces.otlp",
              .help = "OpenTelemetry Collector, Jaeger or Tempo (OTLP over HTTP), such as "
                      "http://collector:4318",
              .value = text(options.otlp.otlp, delivery::check_otlp)}});
  table.add("Traces", delivery::file_rows("traces", "traces", options.file));
  table.add("Traces", {{.argument = "WHAT",
                        .key = "traces.span_names",
                        .help = "Names of spans: record, or type where a receiver indexes names",
                        .value = one_of(options.names, {{"record", SpanNames::record},
                                                        {"type", SpanNames::type}})}});
}

void read_sinks(Reader& section, OutletOptions& options) {
  section.list("sinks", [&options](Reader& item) { read_sink(item, options); });
}

}  // namespace ioc_exporter::traces
