// The part of RecordProcess that reads what is counted of each record beyond its own numbers:
// causes, and links from record to record.
#include <utility>

#include "records/probe/process.h"

namespace ioc_exporter::records {
namespace {

// `gone` is called for each entry that was erased.
template <class Key, class Gone>
Result<void> erase_generation(const kernel::MapView<Key, std::uint64_t>& map,
                              std::uint32_t generation, const Gone& gone) {
  auto keys = map.keys();
  if (!keys) return std::move(keys).error();
  for (const Key& key : *keys) {
    if (key.generation != generation) continue;
    auto erased = map.erase(key);
    if (!erased) return std::move(erased).error();
    if (*erased) gone();
  }
  return {};
}

}  // namespace

std::map<std::uint32_t, std::uint32_t> RecordProcess::slots_by_generation() const {
  std::map<std::uint32_t, std::uint32_t> slots;
  for (const auto& [slot, watched] : watched_) slots.emplace(watched.generation, slot);
  return slots;
}

Result<std::map<std::uint32_t, std::vector<RawCause>>> RecordProcess::causes() const {
  std::map<std::uint32_t, std::vector<RawCause>> by_slot;
  if (!has_causes_) return by_slot;
  const auto slots = slots_by_generation();
  auto read = object_.maps().causes.for_each([&](const iocx_cause_key& key, std::uint64_t count) {
    const auto slot = slots.find(key.generation);
    if (slot == slots.end()) return;
    by_slot[slot->second].push_back({key.record, cause_label(key.cause, key.comm), count});
  });
  if (!read) return read.error();
  return by_slot;
}

Result<std::map<std::uint32_t, std::vector<RawLink>>> RecordProcess::links() const {
  std::map<std::uint32_t, std::vector<RawLink>> by_slot;
  if (!has_links_) return by_slot;
  const auto slots = slots_by_generation();
  auto read = object_.maps().links.for_each([&](const iocx_link_key& key, std::uint64_t count) {
    const auto slot = slots.find(key.generation);
    if (slot != slots.end()) by_slot[slot->second].push_back({key.source, key.record, count});
  });
  if (!read) return read.error();
  return by_slot;
}

Result<void> RecordProcess::forget_causes_and_links(const Watched& watched) const {
  const RecordMaps& maps = object_.maps();
  const auto give = [&](iocx_record_share_of table) {
    return [&maps, &watched, table] {
      maps.shares.give(table, watched.holder.ioc, watched.holder.user);
    };
  };
  if (has_causes_)
    if (auto ok = erase_generation(maps.causes, watched.generation, give(IOCX_SHARE_CAUSES)); !ok)
      return ok;
  if (!has_links_) return {};
  return erase_generation(maps.links, watched.generation, give(IOCX_SHARE_LINKS));
}

}  // namespace ioc_exporter::records
