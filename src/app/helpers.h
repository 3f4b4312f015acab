// The exporter's other processes. They keep the rights that attaching probes, opening
// packet sockets, forking readers and writing files take, so that the exporter itself does without
// them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/helper.h"
#include "base/result.h"

namespace ioc_exporter::delivery {
class Process;
}
namespace ioc_exporter::putlog {
class Outlets;
}
namespace ioc_exporter::traces {
class Outlets;
}

namespace ioc_exporter::app {

struct Options;
struct Rooms;

// It attaches probes, opens the packet socket, forks readers: without it nothing can be counted.
// All is loaded by then but the programs of described functions, which it loads when they are
// needed.
Result<std::shared_ptr<Helper>> start_attach_helper(Rooms& rooms, const Options& options);

// The process with the sinks of both (null: there are none), as the owner of their folder. Null:
// there are no sinks.
Result<std::unique_ptr<delivery::Process>> start_delivery(putlog::Outlets* puts,
                                                          traces::Outlets* traces,
                                                          const Options& options);

}  // namespace ioc_exporter::app
