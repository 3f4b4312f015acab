#include "putlog/outlet_options.h"

#include <utility>

#include "base/value_text.h"
#include "base/yaml_reader.h"
#include "delivery/line_file.h"
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
  return delivery::check_url(url, "http://loki:3100");
}

void read_sink(Reader& item, OutletOptions& options, std::vector<std::string>& gone) {
  SinkOptions sink;
  delivery::read_sink(item, sink);
  item.set("tcp", text(sink.tcp, check_tcp));
  item.set("loki", text(sink.loki, check_loki));
  item.set("metadata", on_off(sink.metadata));
  item.set("format", one_of<bool>(sink.full_lines, {{"caputlog", false}, {"full", true}}));
  item.set("burst", duration(sink.burst));
  item.set("pv", pattern(sink.filter.pv.include));
  item.set("not_pv", pattern(sink.filter.pv.exclude));
  item.set("client", pattern(sink.filter.client.include));
  item.set("user", pattern(sink.filter.user.include));
  item.set("ioc", pattern(sink.filter.ioc.include));
  item.set("unexpected", on_off(sink.filter.unexpected));
  item.set("inside", on_off(sink.filter.inside));
  if (item.has("otlp"))
    return gone.push_back(item.path() +
                          ": otlp has no effect any more: let the log agent read putlog.file");
  if (item.has("file") + item.has("tcp") + item.has("loki") != 1)
    return item.complain("file", "a sink has one of file, tcp and loki");
  if (!sink.receiver.empty() && sink.loki.empty())
    return item.complain("name", "only a sink of loki has login_file, ca_file, tenant and headers");
  options.sinks.push_back(std::move(sink));
}

}  // namespace

std::string SinkOptions::kind() const {
  return !file.empty() ? "file" : !tcp.empty() ? "tcp" : "loki";
}

std::vector<SinkOptions> OutletOptions::all_sinks() const {
  std::vector<SinkOptions> all;
  if (!file.file.empty()) all.push_back(file);
  if (!tcp.tcp.empty()) all.push_back(tcp);
  all.insert(all.end(), sinks.begin(), sinks.end());
  delivery::name_sinks(all);
  for (SinkOptions& sink : all) {
    if (!sink.burst) sink.burst = burst;
    sink.filter.inside |= inside;
  }
  return all;
}

void add_outlet_options(OptionTable& table, OutletOptions& options) {
  table.add("Put log", delivery::file_rows("putlog", "puts", options.file));
  table.add("Put log",
            {{"putlog.tcp=HOST:PORT", "Receiver of caPutLog's lines (JSON): iocLogServer, Logstash",
              text(options.tcp.tcp, check_tcp)},
             {"--putlog.burst=DURATION putlog.burst",
              "Of many puts of one client to one PV, files and receivers get the first, then one "
              "per this time; 0: each",
              duration(options.burst)},
             {"putlog.inside",
              "Files and receivers get writes inside the IOCs, too, which may be far more than "
              "clients' puts",
              on_off(options.inside)},
             {"putlog.events=N",
              "Newest puts in memory, for ioc_exporter puts and /puts; a fourth more for writes "
              "inside the IOCs",
              whole_number(options.memory_events, 1, kMostEvents)},
             {"putlog.memory=BYTES", "Memory for these puts, and a fourth more as before",
              bytes(options.memory_bytes)},
             {"putlog.hide_values=REGEX", "PVs (RE2) whose values are logged as \"***\"",
              pattern(options.hidden_values)},
             {"putlog.user_salt=FILE",
              "File whose first line is a secret; users are logged as a hash with it",
              text(options.salt_file)}});
}

void read_sinks(Reader& section, OutletOptions& options, std::vector<std::string>& gone) {
  section.list("sinks", [&](Reader& item) { read_sink(item, options, gone); });
}

}  // namespace ioc_exporter::putlog
