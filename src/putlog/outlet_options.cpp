#include "putlog/outlet_options.h"

#include <utility>

#include "base/value_text.h"
#include "base/yaml_reader.h"
#include "delivery/log_file.h"
#include "delivery/receiver.h"

namespace ioc_exporter::putlog {
namespace {

constexpr std::uint64_t kMostOld = 1000, kMostEvents = 1'000'000;

Result<void> check_tcp(const std::string& text) {
  if (text.empty()) return {};
  const auto parsed = delivery::parse_host_and_port(text);
  return parsed ? Result<void>() : Result<void>(parsed.error());
}

Result<void> check_loki(const std::string& url) {
  return delivery::check_url(url, true, "http://loki:3100");
}

Result<void> check_otlp(const std::string& url) {
  return delivery::check_url(url, true, "http://collector:4318");
}

void read_sink(Reader& item, OutletOptions& options) {
  SinkOptions sink;
  sink.name = item.text("name").value_or("");
  item.check("file",
             [&](const std::string& text) { return delivery::check_log_path(sink.file = text); });
  item.check("tcp", [&](const std::string& text) { return check_tcp(sink.tcp = text); });
  item.check("loki", [&](const std::string& text) { return check_loki(sink.loki = text); });
  item.check("otlp", [&](const std::string& text) { return check_otlp(sink.otlp = text); });
  delivery::read_receiver(item, sink.receiver);
  sink.metadata = item.flag("metadata").value_or(true);
  item.check("format", [&](const std::string& text) -> Result<void> {
    sink.full_lines = text == "full";
    if (text == "full" || text == "caputlog") return {};
    return error_in_words(shown(text) + " is neither caputlog nor full");
  });
  item.check("size", [&](const std::string& text) -> Result<void> {
    const auto size = parse_bytes(text);
    if (!size) return size.error();
    sink.size = *size;
    return {};
  });
  if (const auto age = item.duration("age")) sink.age = *age;
  if (const auto count = item.number("count", 0, kMostOld))
    sink.count = static_cast<unsigned>(*count);
  sink.burst = item.duration("burst");
  sink.filter.pv.include = item.pattern("pv");
  sink.filter.pv.exclude = item.pattern("not_pv");
  sink.filter.client.include = item.pattern("client");
  sink.filter.user.include = item.pattern("user");
  sink.filter.ioc.include = item.pattern("ioc");
  sink.filter.unexpected = item.flag("unexpected").value_or(false);
  if (!sink.file.empty() + !sink.tcp.empty() + !sink.loki.empty() + !sink.otlp.empty() != 1)
    return item.complain("file", "a sink has one of file, tcp, loki and otlp");
  if (!sink.receiver.empty() && sink.loki.empty() && sink.otlp.empty())
    return item.complain("name",
                         "only a sink of loki or otlp has login_file, ca_file, tenant and headers");
  options.sinks.push_back(std::move(sink));
}

}  // namespace

std::vector<SinkOptions> OutletOptions::all_sinks() const {
  std::vector<SinkOptions> all;
  if (!file.file.empty()) all.push_back(file);
  if (!tcp.tcp.empty()) all.push_back(tcp);
  if (!store.store.empty()) all.push_back(store);
  all.insert(all.end(), sinks.begin(), sinks.end());
  delivery::SinkNames names;
  for (SinkOptions& sink : all) {
    if (sink.name.empty())
      sink.name = !sink.file.empty()    ? "file"
                  : !sink.tcp.empty()   ? "tcp"
                  : !sink.store.empty() ? "store"
                  : !sink.otlp.empty()  ? "otlp"
                                        : "loki";
    sink.name = names.take(sink.name);
    if (!sink.burst) sink.burst = burst;
  }
  return all;
}

void add_outlet_options(OptionTable& table, OutletOptions& options) {
  table.add("Put log",
            {{.flag = "putlog.file",
              .argument = "FILE",
              .key = "putlog.file",
              .help = "File for puts, lines of JSON; only the folder's owner may write to it",
              .value = text(options.file.file, delivery::check_log_path)},
             {.argument = "BYTES",
              .key = "putlog.file_size",
              .help = "Size at which a new file begins",
              .value = bytes(options.file.size)},
             {.argument = "DURATION",
              .key = "putlog.file_age",
              .help = "Age at which a new file begins; 0: none",
              .value = duration(options.file.age)},
             {.argument = "N",
              .key = "putlog.file_count",
              .help = "Old files to keep, FILE.1 to FILE.N",
              .value = whole_number(options.file.count, 0, kMostOld)},
             {.argument = "HOST:PORT",
              .key = "putlog.tcp",
              .help = "Receiver of caPutLog's lines (JSON): iocLogServer, Logstash",
              .value = text(options.tcp.tcp, check_tcp)},
             {.flag = "putlog.store",
              .argument = "DIR",
              .key = "putlog.store",
              .help = "Folder of a database of puts, for ioc_exporter puts --since; only its owner "
                      "may write to it",
              .value = text(options.store.store, delivery::check_log_path)},
             {.argument = "BYTES",
              .key = "putlog.store_size",
              .help = "Size of the database; the oldest puts leave first",
              .value = bytes(options.store.size)},
             {.argument = "DURATION",
              .key = "putlog.store_age",
              .help = "Age at which puts leave the database; 0: none",
              .value = duration(options.store.age)},
             {.flag = "putlog.burst",
              .argument = "DURATION",
              .key = "putlog.burst",
              .help = "Of many puts of one client to one PV, files and receivers get the first, "
                      "then one per this time; 0: each",
              .value = duration(options.burst)},
             {.argument = "N",
              .key = "putlog.events",
              .help = "Newest puts in memory, for ioc_exporter puts and /puts",
              .value = whole_number(options.memory_events, 1, kMostEvents)},
             {.argument = "BYTES",
              .key = "putlog.memory",
              .help = "Memory for them",
              .value = bytes(options.memory_bytes)},
             {.argument = "REGEX",
              .key = "putlog.hide_values",
              .help = "PVs whose values are \"***\" in the put log",
              .value = pattern(options.hidden_values)},
             {.argument = "FILE",
              .key = "putlog.user_salt",
              .help = "File whose first line is the secret to hash users with",
              .value = text(options.salt_file)}});
}

void read_sinks(Reader& section, OutletOptions& options) {
  section.list("sinks", [&options](Reader& item) { read_sink(item, options); });
}

}  // namespace ioc_exporter::putlog
