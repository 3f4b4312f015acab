#include "putlog/outlet_options.h"

#include <utility>

#include "base/value_text.h"
#include "base/yaml_reader.h"
#include "delivery/log_file.h"
#include "delivery/receiver.h"

namespace ioc_exporter::putlog {
namespace {

constexpr std::uint64_t kMostEvents = 1'000'000;

Result<void> check_tcp(const std::string& text) {
  if (text.empty()) return {};
  const auto parsed = delivery::parse_host_and_port(text);
  return parsed ? Result<void>() : Result<void>(parsed.error());
}

Result<void> check_loki(const std::string& url) {
  return delivery::check_url(url, true, "http://loki:3100");
}

void read_sink(Reader& item, OutletOptions& options) {
  SinkOptions sink;
  delivery::read_sink(item, sink);
  item.check("tcp", [&](const std::string& text) { return check_tcp(sink.tcp = text); });
  item.check("loki", [&](const std::string& text) { return check_loki(sink.loki = text); });
  sink.metadata = item.flag("metadata").value_or(true);
  item.check("format", [&](const std::string& text) -> Result<void> {
    sink.full_lines = text == "full";
    if (text == "full" || text == "caputlog") return {};
    return error_in_words(shown(text) + " is neither caputlog nor full");
  });
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

std::string SinkOptions::kind() const {
  return !file.empty()    ? "file"
         : !tcp.empty()   ? "tcp"
         : !store.empty() ? "store"
         : !otlp.empty()  ? "otlp"
                          : "loki";
}

std::vector<SinkOptions> OutletOptions::all_sinks() const {
  std::vector<SinkOptions> all;
  if (!file.file.empty()) all.push_back(file);
  if (!tcp.tcp.empty()) all.push_back(tcp);
  if (!store.store.empty()) all.push_back(store);
  all.insert(all.end(), sinks.begin(), sinks.end());
  delivery::name_sinks(all);
  for (SinkOptions& sink : all)
    if (!sink.burst) sink.burst = burst;
  return all;
}

void add_outlet_options(OptionTable& table, OutletOptions& options) {
  table.add("Put log", delivery::file_rows("putlog", "puts", options.file));
  table.add("Put log",
            {{.argument = "HOST:PORT",
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
