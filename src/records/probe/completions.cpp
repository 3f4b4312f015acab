#include "records/probe/completions.h"

#include <algorithm>

namespace ioc_exporter::records {

static_assert(sizeof(iocx_completion) == 8 + IOCX_PUT_HIST_SLOTS * 8);

Result<void> RecordCompletions::follow(RecordProcess& records, std::uint32_t slot,
                                       const ProbePoint& point, std::uint32_t count) {
  if (maps_.contains(slot)) return {};
  if (!records.saw_asynchronous(slot)) return {};
  constexpr std::uint32_t kLeast = 64, kMost = IOCX_MAX_COMPLETIONS;
  auto map = records.make_completions_map(slot, std::clamp(count, kLeast, kMost));
  if (!map) return std::move(map).error();
  maps_.emplace(slot, std::move(*map));
  auto done = records.object().set_completions_map(slot, maps_.at(slot));
  if (done) done = records.add(slot, point);
  if (done) return {};
  if (auto forgotten = forget(records, slot); !forgotten) return forgotten;
  return done;
}

Result<void> RecordCompletions::forget(RecordProcess& records, std::uint32_t slot) {
  if (!maps_.contains(slot)) return {};
  auto cleared = records.object().clear_completions_map(slot);
  maps_.erase(slot);
  records.release_completions_map(slot);
  return cleared;
}

Result<std::vector<std::pair<std::uint64_t, iocx_completion>>> RecordCompletions::of(
    std::uint32_t slot) const {
  std::vector<std::pair<std::uint64_t, iocx_completion>> completions;
  const auto found = maps_.find(slot);
  if (found == maps_.end()) return completions;
  auto read =
      found->second.view.for_each([&](std::uint64_t address, const iocx_completion& completion) {
        completions.emplace_back(address, completion);
      });
  if (!read) return read.error();
  return completions;
}

}  // namespace ioc_exporter::records
