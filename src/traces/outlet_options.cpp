#include "traces/outlet_options.h"

#include <algorithm>
#include <utility>

#include "base/value_text.h"
#include "base/yaml_reader.h"
#include "delivery/log_file.h"
#include "delivery/receiver.h"

namespace ioc_exporter::traces {
namespace {

constexpr std::uint64_t kMostOld = 1000;

Result<void> check_zipkin(const std::string& url) {
  if (url.empty()) return {};
  return delivery::check_url(url, true, "http://zipkin:9411");
}

Result<void> check_otlp(const std::string& url) {
  if (url.empty()) return {};
  return delivery::check_url(url, true, "http://collector:4318");
}

void read_server(Reader& item, SinkOptions& sink) {
  item.check("zipkin", [&](const std::string& text) { return check_zipkin(sink.zipkin = text); });
  item.check("otlp", [&](const std::string& text) { return check_otlp(sink.otlp = text); });
  delivery::read_receiver(item, sink.receiver);
  item.check("span_names", [&](const std::string& text) -> Result<void> {
    sink.names = text == "type" ? SpanNames::type : SpanNames::record;
    if (text == "type" || text == "record") return {};
    return none_of(text, {"record", "type"});
  });
}

void read_file(Reader& item, SinkOptions& sink) {
  item.check("file",
             [&](const std::string& text) { return delivery::check_log_path(sink.file = text); });
  item.check("size", [&](const std::string& text) -> Result<void> {
    const auto size = parse_bytes(text);
    if (!size) return size.error();
    sink.size = *size;
    return {};
  });
  if (const auto age = item.duration("age")) sink.age = *age;
  if (const auto count = item.number("count", 0, kMostOld))
    sink.count = static_cast<unsigned>(*count);
}

void read_sink(Reader& item, OutletOptions& options) {
  SinkOptions sink;
  sink.name = item.text("name").value_or("");
  read_file(item, sink);
  read_server(item, sink);
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
  delivery::SinkNames taken;
  for (SinkOptions& sink : all) {
    if (sink.name.empty())
      sink.name = !sink.file.empty() ? "file" : !sink.zipkin.empty() ? "zipkin" : "otlp";
    sink.name = taken.take(sink.name);
    if (!sink.names) sink.names = names;
  }
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
              .value = text(options.otlp.otlp, check_otlp)},
             {.flag = "traces.file",
              .argument = "FILE",
              .key = "traces.file",
              .help = "File for traces, lines of JSON; only the folder's owner may write to it",
              .value = text(options.file.file, delivery::check_log_path)},
             {.argument = "BYTES",
              .key = "traces.file_size",
              .help = "Size at which a new file begins",
              .value = bytes(options.file.size)},
             {.argument = "DURATION",
              .key = "traces.file_age",
              .help = "Age at which a new file begins; 0: none",
              .value = duration(options.file.age)},
             {.argument = "N",
              .key = "traces.file_count",
              .help = "Old files to keep, FILE.1 to FILE.N",
              .value = whole_number(options.file.count, 0, kMostOld)},
             {.argument = "WHAT",
              .key = "traces.span_names",
              .help = "Names of spans: record, or type where a receiver indexes names",
              .value = one_of(options.names,
                              {{"record", SpanNames::record}, {"type", SpanNames::type}})}});
}

void read_sinks(Reader& section, OutletOptions& options) {
  section.list("sinks", [&options](Reader& item) { read_sink(item, options); });
}

}  // namespace ioc_exporter::traces
