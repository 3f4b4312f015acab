// Which functions of an IOC are probed besides dbProcess, by what its files have.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "discovery/ioc.h"
#include "ioc/database_reader.h"
#include "probes/record_process.h"

namespace ioc_exporter::app {

struct RecordPoints {
  std::vector<probes::ProbePoint> extras;
  iocx_put_config puts{};
  std::vector<std::string> notes;  // what is not counted, and why
};

// `puts`: writes are to be counted.
RecordPoints record_points(const discovery::ProbeTarget& target, const ioc::FieldOffsets& offsets,
                           bool puts);

// Where asynchronous records complete; nothing: the file does not tell.
std::optional<probes::ProbePoint> completion_point(const discovery::ProbeTarget& target);

}  // namespace ioc_exporter::app
