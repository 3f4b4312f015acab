// The site's policy about puts, as samples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ioc_exporter {

// Puts that the policy does not allow, over both operations. Times in seconds since 1970; 0: not
// known.
struct UnexpectedPutSample {
  std::string ioc, pv, client, user, host;
  std::string rule;    // that decided; "default" where none matched
  std::string action;  // "unexpected" or "forbidden"
  std::uint64_t count = 0;
  double last_time_seconds = 0;     // of the last one
  double created_time_seconds = 0;  // when there was none yet
};

// Puts that one rule has decided about.
struct PolicyRuleSample {
  std::string rule;    // "default": where none matched
  std::string action;  // "allowed", "expected", "forbidden" or "unexpected"
  std::uint64_t puts = 0;
};

// All of it, at one moment.
struct PolicySamples {
  std::vector<UnexpectedPutSample> unexpected_puts = {};  // where there is a policy
  std::vector<PolicyRuleSample> policy_rules = {};        // in their order
};

}  // namespace ioc_exporter
