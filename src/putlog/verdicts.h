// Verdicts: what the site's policy says of a put. As in the metrics, a former policy judges what it
// was there for: events may lie in the ring for seconds.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>

#include "policy/policy.h"
#include "putlog/event.h"
#include "puts/totals/put_totals.h"
#include "shared/putlog.h"

namespace ioc_exporter::putlog {

// By operation: rules of the policy that decide.
using Rules = std::array<std::optional<std::uint32_t>, 2>;

class Verdicts {
 public:
  // For puts from `now_ns` on, but those that `before` counts.
  void set_policy(std::shared_ptr<const policy::Policy> policy, puts::PutsOfSlots before,
                  std::uint64_t now_ns);
  // `event` has all but the verdict; `address`: of its client. `rules`: of its channel, found now
  // or before.
  void judge(PutEvent& event, std::string_view address, PutOp op, const iocx_putlog_event& head,
             Rules& rules) const;

 private:
  // A policy that was replaced, the puts until then, and when.
  struct Former {
    std::shared_ptr<const policy::Policy> policy;
    puts::PutsOfSlots puts;
    std::uint64_t until_ns = 0;
  };
  const Former* former(const iocx_putlog_event& head) const;

  std::shared_ptr<const policy::Policy> policy_;
  std::deque<Former> former_;  // of the last reloads
};

}  // namespace ioc_exporter::putlog
