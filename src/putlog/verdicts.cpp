#include "putlog/verdicts.h"

#include <algorithm>
#include <utility>

namespace ioc_exporter::putlog {
namespace {

constexpr std::size_t kMostFormer = 4;  // policies

int badness(policy::Action action) {
  return action == policy::Action::forbid ? 2 : policy::is_bad(action) ? 1 : 0;
}

}  // namespace

void Verdicts::set_policy(std::shared_ptr<const policy::Policy> policy, puts::PutsOfSlots before,
                          std::uint64_t now_ns) {
  former_.push_back({std::exchange(policy_, std::move(policy)), std::move(before), now_ns});
  if (former_.size() > kMostFormer) former_.pop_front();
}

// The first that was there until the put came; null: the one of now.
const Verdicts::Former* Verdicts::former(const iocx_putlog_event& head) const {
  const auto came_before = [&head](const Former& one) {
    if (head.source != IOCX_PUTLOG_CA_SERVER || head.id == 0) return head.time < one.until_ns;
    const auto counted = one.puts.find(head.id);
    return counted != one.puts.end() && head.number <= counted->second[head.op & 1];
  };
  const auto found = std::ranges::find_if(former_, came_before);
  return found == former_.end() ? nullptr : &*found;
}

// As if each member of a group were written alone, a rule that does not allow that is the group's.
// Members that no rule names are as the group is.
void Verdicts::judge(PutEvent& event, std::string_view address, PutOp op,
                     const iocx_putlog_event& head, Rules& rules) const {
  const Former* const before = former(head);
  const policy::Policy* const policy = (before != nullptr ? before->policy : policy_).get();
  if (policy == nullptr) return;
  policy::Put put{event.pv, event.user, event.client_host, address, op, event.inside};
  Rules of_former;
  auto& own = (before != nullptr ? of_former : rules)[head.op & 1];
  if (!own) own = policy->decide(put);
  std::uint32_t worst = *own;
  for (const PutField& field : event.fields) {
    if (field.field.empty()) continue;
    put.pv = field.field;
    const std::uint32_t alone = policy->decide(put);
    if (policy->name(alone) != policy::kDefaultRule &&
        badness(policy->action(alone)) > badness(policy->action(worst)))
      worst = alone;
  }
  event.rule = policy->name(worst);
  event.action = policy::verdict_of(policy->action(worst));
}

}  // namespace ioc_exporter::putlog
