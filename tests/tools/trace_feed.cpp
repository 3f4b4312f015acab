// Gives traces to the outlets that flags name, as the exporter does:
//
//   trace_feed [--traces.zipkin=URL] [--sinks=YAML] ...
//
// A line of its input is a trace as JSON, or "?": then it prints what /metrics says of the outlets,
// and a line "# end". At the end of its input the outlets have what waits, or drop it, as at the
// exporter's end.
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml_reader.h"
#include "delivery/sink_families.h"
#include "exposition/text_encoder.h"
#include "support/delivery_thread.h"
#include "traces/json.h"
#include "traces/outlets.h"

namespace {

using namespace ioc_exporter;

[[noreturn]] void fail(const std::string& why) {
  std::cerr << "trace_feed: " << why << '\n';
  std::exit(1);
}

void read_sinks(const std::string& yaml, traces::OutletOptions& options) {
  Problems problems("--sinks");
  const YAML::Node node = parse_yaml("sinks: " + yaml, problems);
  Reader section(node, "traces", problems);
  traces::read_sinks(section, options);
  section.finish();
  if (!problems.empty()) fail(problems.error().message());
}

void tell(const traces::Outlets& outlets) {
  exposition::TextEncoder encoder;
  exposition::SharedFamilies families;
  delivery::add_sinks("traces", outlets.samples(), encoder, families);
  families.encode(encoder);
  std::cout << encoder.finish().view() << "# end\n" << std::flush;
}

}  // namespace

int main(int count, char** arguments) {
  traces::OutletOptions options;
  OptionTable table({"Traces"});
  traces::add_outlet_options(table, options);
  FlagWords flags;
  for (int i = 1; i < count; ++i) {
    const std::string_view word(arguments[i]);
    const std::size_t equals = word.find('=');
    if (!word.starts_with("--") || equals == std::string_view::npos)
      fail("no flag: " + std::string(word));
    const std::string name(word.substr(2, equals - 2)), value(word.substr(equals + 1));
    if (name == "sinks")
      read_sinks(value, options);
    else
      flags[name].push_back(value);
  }
  if (const auto set = table.set_from_flags(flags); !set) fail(set.error().message());
  auto outlets = traces::Outlets::make(options, "1.2.3");
  if (!outlets) fail(outlets.error().message());
  const delivery::DeliveryThread delivery({outlets->get()});
  if (delivery.said() != ".") fail(delivery.said());
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "?") {
      tell(**outlets);
      continue;
    }
    auto trace = traces::trace_from_json(line);
    if (!trace) fail(trace.error().message());
    const auto shared = std::make_shared<const traces::Trace>(std::move(*trace));
    (*outlets)->receive(std::vector<traces::SharedTrace>{shared});
  }
}
