// What the site's policy says of the puts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ioc_exporter {

// Puts that the policy does not allow, over both operations. Shown as 0 until every server that
// scrapes has been served the 0: Prometheus sees no increase in a counter that begins above it.
struct UnexpectedPutSample {
  std::string ioc, pv, client, user, host;
  std::string rule;    // that decided; "default" where none matched
  std::string action;  // "unexpected" or "forbidden"
  std::uint64_t count = 0;
  double last_time_seconds = 0;  // time of day of the last one, held back or not
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
  std::uint64_t policy_look = 0;  // see policy::Scrapers: for whoever serves this
};

}  // namespace ioc_exporter
