// The exporter's helper processes. They keep the rights that attaching probes, entering network
// namespaces and forking readers take, so that the exporter itself does without them.
#pragma once

#include <memory>
#include <string>

#include "app/daemon.h"
#include "app/options.h"
#include "base/helper.h"
#include "base/result.h"

namespace ioc_exporter::app {

struct Helpers {
  // Attaches probes, opens sockets in network namespaces, forks readers.
  std::shared_ptr<Helper> attach;
  std::shared_ptr<Helper> log;     // opens the put log's files; null: there are none
  std::shared_ptr<Helper> traces;  // opens those of traces; the same

  // The name of one that has ended without which nothing can be counted; "": there is none.
  std::string gone() const;
};

// Once all is loaded, and before the first thread is started.
Result<Helpers> start_helpers(Daemon& daemon, const Options& options);

}  // namespace ioc_exporter::app
