// A policy that expects all seen puts, as a text for a person to read and edit.
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

enum class LearnBy {
  user,   // a rule for each user, from wherever it wrote
  client  // a rule for each user, host and address
};

// YAML, the section `policy` of a configuration file: rules that match all of `puts` with a known
// PV. Three names or more that differ only in their numbers become one pattern; five addresses or
// more of a /24 become that network. `source`: origin of the puts, for a comment.
std::string propose(const std::vector<SeenPut>& puts, LearnBy by, const std::string& source);

// Whether a put of the list is one that propose() leaves out.
bool is_left_out(const SeenPut& put);

}  // namespace ioc_exporter::policy
