// Which functions of an IOC are probed besides dbProcess, by what its files have.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "iocs/ioc.h"
#include "iocs/memory/database_reader.h"
#include "records/probe/process.h"

namespace ioc_exporter::records {

struct RecordPoints {
  std::shared_ptr<const elf::EndingFunction>
      process;  // where dbProcess ends; null: it is not timed
  std::vector<ProbePoint> extras;
  iocx_put_config puts{};
  bool all_writes = false;                  // to records are counted
  std::optional<elf::CodeRange> scan_list;  // distinguishes events and I/O interrupts
  std::vector<std::string> notes;           // missing counts, and why
};

// `puts`: writes are to be counted. `durations`: calls are to be timed; then the file is read.
// `traces`: puts through Channel Access links become spans.
RecordPoints record_points(const iocs::ProbeTarget& target, const iocs::FieldOffsets& offsets,
                           bool puts, bool durations, bool traces);

// Function where asynchronous records complete; nothing: the file does not name it.
std::optional<ProbePoint> completion_point(const iocs::ProbeTarget& target);

}  // namespace ioc_exporter::records
