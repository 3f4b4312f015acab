// What sinks are called, and how an operator says who a receiver is that takes events or traces by
// HTTP.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/result.h"
#include "delivery/receiver.h"
#include "delivery/sink_sample.h"

namespace ioc_exporter {
class Reader;
}

namespace ioc_exporter::delivery {

// Gives each sink a name of its own.
class SinkNames {
 public:
  // `wanted`, with a number behind it when it is taken.
  std::string take(const std::string& wanted);

 private:
  std::set<std::string> taken_ = {kMemory};
};

struct ReceiverOptions {
  std::string login_file, ca_file, tenant;  // "" = none
  std::map<std::string, std::string> headers;
  bool empty() const {
    return login_file.empty() && ca_file.empty() && tenant.empty() && headers.empty();
  }
};

// Its keys of a sink in the site's file.
void read_receiver(Reader& item, ReceiverOptions& options);

// To be called at the start: reads the login. `log`: how messages begin.
Result<HttpReceiver> open_receiver(const std::string& log, const std::string& url,
                                   const ReceiverOptions& options);

}  // namespace ioc_exporter::delivery
