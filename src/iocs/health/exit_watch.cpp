#include "iocs/health/exit_watch.h"

#include <utility>

#include "base/log.h"
#include "base/pid_namespace.h"
#include "base/rooted_fs.h"
#include "kernel/load_error.h"

namespace ioc_exporter::iocs {

void ExitWatch::open() {
  is_possible_ = kernel::has_btf();
  if (!is_possible_) {
    log::info("ends of IOCs are not seen: this kernel has no BTF (/sys/kernel/btf/vmlinux)");
    return;
  }
  if (auto initial = in_initial_pid_namespace(RootedFs(), "see how IOCs end"); !initial) {
    problem_ = initial.error().message();
    return;
  }
  auto object = ExitObject::load();
  if (object)
    object_ = std::move(*object);
  else
    problem_ = kernel::explain_load_error(kProbe, object.error());
}

std::vector<ExitWatch::Ended> ExitWatch::follow(const Live& live, Clock::time_point now) {
  std::vector<Ended> ended;
  if (!object_) return ended;
  const auto pid_of = [](const IocId& id) { return static_cast<std::uint32_t>(id.pid); };
  for (const auto& [id, ioc] : live_)
    if (!live.contains(id)) gone_.insert_or_assign(id, Gone{ioc, now + kPatience});
  for (auto gone = gone_.begin(); gone != gone_.end();) {
    const auto exit = object_->exits().lookup(pid_of(gone->first));
    const bool told = exit && *exit && (*exit)->ended != 0;
    if (told)
      ended.push_back({gone->second.ioc.name, gone->second.ioc.user,
                       exit_of_status((*exit)->status), gone->first.pid,
                       Clock::time_point(std::chrono::nanoseconds((*exit)->ended_ns))});
    // Also one that runs on, and is not followed any more.
    if (!told && now < gone->second.until) {
      ++gone;
      continue;
    }
    (void)object_->exits().erase(pid_of(gone->first));
    gone = gone_.erase(gone);
  }
  for (const auto& [id, ioc] : live) {
    if (live_.contains(id)) continue;
    // Its pid may have been another process', whose end will not be reported any more.
    std::erase_if(gone_, [pid = id.pid](const auto& gone) { return gone.first.pid == pid; });
    if (auto noted = object_->exits().update(pid_of(id), {}); !noted) {
      log::debug("{}", noted.error().message());
      unnoted_.insert(id);
    }
  }
  std::erase_if(unnoted_, [&live](const IocId& id) { return !live.contains(id); });
  live_ = live;
  return ended;
}

std::optional<std::uint64_t> ExitWatch::hold_changes() const {
  if (!object_ || !unnoted_.empty()) return std::nullopt;
  return object_->hold_changes();
}

std::optional<ProbeSample> ExitWatch::sample() const {
  if (!is_possible_) return std::nullopt;
  ProbeSample sample;
  sample.probe = kProbe;
  sample.loaded = object_.has_value();
  sample.attachments = object_ ? 1 : 0;
  if (const auto stats = object_ ? object_->stats() : std::nullopt) {
    sample.runs = stats->runs;
    sample.run_time_ns = stats->run_time_ns;
  }
  return sample;
}

}  // namespace ioc_exporter::iocs
