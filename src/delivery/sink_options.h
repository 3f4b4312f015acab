// An operator's settings of a sink, whatever goes there: its name, its file, and the receiver that
// takes events or traces by HTTP.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/option_table.h"
#include "base/result.h"
#include "delivery/receiver.h"
#include "delivery/sink_sample.h"

namespace ioc_exporter::delivery {

struct ReceiverOptions {
  std::string login_file, ca_file, tenant;  // "" = none
  std::map<std::string, std::string> headers;
  bool empty() const {
    return login_file.empty() && ca_file.empty() && tenant.empty() && headers.empty();
  }
};

struct SinkOptions {
  std::string name;  // "" = by its kind
  std::string file;  // or what each kind of events has besides
  std::uint64_t size = 100u << 20;
  std::chrono::milliseconds age = std::chrono::hours(24);
  unsigned count = 10;
  ReceiverOptions receiver;
};

// The keys of a sink in the site's file.
void read_sink(Reader& item, SinkOptions& options);
// The rows of a file that a flag names: SECTION.file, and its bounds. They refer to `options`.
std::vector<OptionRow> file_rows(const std::string& section, const std::string& events,
                                 SinkOptions& options);

// Gives each sink a name of its own, with a number behind it when it is taken. Each has a kind().
template <class Options>
void name_sinks(std::vector<Options>& sinks) {
  std::set<std::string> taken = {kMemory};
  for (Options& sink : sinks) {
    const std::string wanted = sink.name.empty() ? sink.kind() : sink.name;
    sink.name = wanted;
    for (unsigned number = 2; !taken.insert(sink.name).second; ++number)
      sink.name = wanted + "-" + std::to_string(number);
  }
}

// To be called at the start: reads the login.
Result<HttpReceiver> open_receiver(const std::string& url, const ReceiverOptions& options);

}  // namespace ioc_exporter::delivery
