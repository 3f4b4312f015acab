// Puts in a scrape of ioc_exporter.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "puts/totals/samples.h"

namespace ioc_exporter::policy {

// Names as the clients said them: the \xNN of the labels are bytes again.
struct SeenPut {
  std::string pv, client, user, host;
  PutOp op = PutOp::write;
  std::uint64_t count = 0;
};

// The series of epics_puts_total in text format 0.0.4; puts by PV Access are writes, as the policy
// takes them. Other families are passed over; an error names the line of a series that cannot be
// read, or says that there is none.
Result<std::vector<SeenPut>> read_seen_puts(std::string_view scrape);

}  // namespace ioc_exporter::policy
