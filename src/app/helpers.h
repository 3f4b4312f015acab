// The exporter's helper processes: they keep the rights that attaching probes and looking into
// other network namespaces takes, so that the exporter itself, which reads what others made, has
// none of them.
#pragma once

#include <memory>
#include <string>

#include "app/daemon.h"
#include "app/options.h"
#include "base/helper.h"
#include "base/result.h"
#include "iocs/memory/reader_pool.h"

namespace ioc_exporter::app {

struct Helpers {
  std::shared_ptr<Helper> attach;  // null: there are no probes to attach
  std::shared_ptr<Helper> net;
  std::shared_ptr<Helper> log;     // opens the put log's files; null: there are none
  std::shared_ptr<Helper> traces;  // opens those of traces; the same
  std::shared_ptr<iocs::ReaderPool> readers;

  // The name of one that has ended without which nothing can be counted; "": there is none.
  std::string gone() const;
};

// Once all is loaded, and before the first thread is started.
Result<Helpers> start_helpers(Daemon& daemon, const Options& options);

}  // namespace ioc_exporter::app
