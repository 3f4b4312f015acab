// A policy that expects all seen puts, as a text for a person to read and edit.
#pragma once

#include <cstdint>
#include <set>
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
  std::string forbidden_by = {};  // rule of the policy in force; "": none
};

struct SeenPuts {
  std::vector<SeenPut> puts;
  std::set<std::string> records;  // that have processed
};

// Of a page in text format 0.0.4: epics_puts_total (puts by PV Access are writes, as the policy
// takes them), epics_unexpected_puts_total, epics_record_process_total. An error names the line of
// a series that cannot be read, or says that there is no put.
Result<SeenPuts> read_seen_puts(std::string_view scrape);

enum class LearnBy {
  user,   // a rule for each user, from wherever it wrote
  client  // a rule for each user, host and address
};

enum class Widen {
  no,  // what was seen, and nothing else
  // Three names or more that differ only in their numbers become one pattern, with the records that
  // it adds; five addresses or more of a /24 become that network.
  patterns
};

// YAML, the section `policy` of a configuration file: rules that match all puts with a known PV but
// those that are forbidden now, which are listed. `source`: origin of the puts, for a comment.
std::string propose(const SeenPuts& seen, LearnBy by, Widen widen, const std::string& source);

// Whether a put of the list is one that propose() leaves out.
bool is_left_out(const SeenPut& put);

}  // namespace ioc_exporter::policy
