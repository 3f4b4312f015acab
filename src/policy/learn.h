// A policy that expects what was seen, as a text for a person to read and edit.
#pragma once

#include <string>
#include <vector>

#include "policy/seen_puts.h"

namespace ioc_exporter::policy {

enum class LearnBy {
  user,   // a rule for each user, from wherever it wrote
  client  // a rule for each user, host and address
};

// YAML, the section `policy` of a configuration file: rules that match all of `puts`, but those
// whose PV is not known. Names that differ in their numbers only become one pattern from three of
// them on; from five addresses of a /24 on, it stands for them. `source`: where the puts are from,
// for a comment.
std::string propose(const std::vector<SeenPut>& puts, LearnBy by, const std::string& source);

// Whether a put of the list is one that propose() leaves out.
bool is_left_out(const SeenPut& put);

}  // namespace ioc_exporter::policy
