#include "records/return_probe_check.h"

#include "kernel/empty_probe.h"
#include "records/hit_target.h"

namespace ioc_exporter::records {
namespace {

#if defined(__x86_64__)
constexpr long kUretprobe = 335;  // __NR_uretprobe, in no header of Debian 12
#else
constexpr long kUretprobe = HitTarget::kNoneForbidden;
#endif

}  // namespace

Result<bool> return_probes_pass_filters() {
  auto child = HitTarget::start(kUretprobe);
  if (!child) return std::move(child).error();
  if (auto alive = child->call(1); !alive) return alive.error();
  auto target = child->target();
  if (!target) return std::move(target).error();
  auto probe = kernel::EmptyProbe::attach(target->code->attach_path(), target->offset, target->pid,
                                          kernel::EmptyProbe::Where::at_return);
  if (!probe) return std::move(probe).error();
  return static_cast<bool>(child->call(1));
}

}  // namespace ioc_exporter::records
