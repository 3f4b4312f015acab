#include "records/scan_passes.h"

#include <charconv>
#include <cstddef>
#include <utility>

namespace ioc_exporter::records {

static_assert(sizeof(iocx_trigger_key) == 16 && sizeof(iocx_trigger) == 24);
static_assert(PassModel::kPut == IOCX_TRIGGER_PUT &&
              PassModel::kCompletion == IOCX_TRIGGER_COMPLETION);
static_assert(sizeof(iocx_scan_list) == 64 + IOCX_PUT_HIST_SLOTS * 8);
static_assert(offsetof(iocx_scan_list, comm) == 8 && offsetof(iocx_scan_list, buckets) == 64);

namespace {

// Nobody sees the end of what a trigger set off: for so long it may go on.
constexpr std::uint64_t kUnderWay = 50'000'000;

PassModel::Passes passes(std::uint64_t begun, bool under_way) {
  return {begun - (under_way && begun > 0 ? 1 : 0), begun};
}

template <class Map, class IsGone>
Result<void> erase_from(const Map& map, const RecordShares& shares, iocx_record_share_of table,
                        IsGone&& is_gone) {
  std::vector<std::pair<typename Map::Key, iocx_holder>> gone;
  auto read = map.for_each([&](const auto& key, const auto& value) {
    if (is_gone(key, value) && value.holder.ioc != 0) gone.emplace_back(key, value.holder);
  });
  if (!read) return read;
  for (const auto& [key, holder] : gone) {
    auto erased = map.erase(key);
    if (!erased) return std::move(erased).error();
    if (*erased) shares.give(table, holder);
  }
  return {};
}

}  // namespace

ScanPeriod scan_period(std::string_view thread_name) {
  constexpr std::string_view kPrefix = "scan-";
  if (!thread_name.starts_with(kPrefix)) return {};
  const std::string_view text = thread_name.substr(kPrefix.size());
  double seconds = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc{} || stop != text.data() + text.size() || !(seconds > 0)) return {};
  return {std::string(text), seconds};
}

Result<std::map<std::uint32_t, std::vector<iocx_scan_list>>> read_scan_lists(
    const RecordMaps& maps) {
  std::map<std::uint32_t, std::vector<iocx_scan_list>> by_slot;
  auto read = maps.scan_lists.for_each([&](std::uint64_t, const iocx_scan_list& list) {
    if (list.end_ns != 0) by_slot[list.slot].push_back(list);
  });
  if (!read) return read.error();
  return by_slot;
}

Result<PassModel::Lists> read_passes(const RecordMaps& maps, std::uint32_t slot,
                                     std::uint32_t generation, bool puts, std::uint64_t now_ns) {
  PassModel::Lists lists;
  auto read = maps.scan_lists.for_each([&](std::uint64_t thread, const iocx_scan_list& list) {
    if (list.slot != slot || list.holder.ioc == 0) return;
    const bool sees_ends = list.end_ns != 0;
    lists.emplace(
        IOCX_TRIGGER_SCAN(thread),
        passes(list.begun, sees_ends ? list.start_ns != 0 : list.start_ns + kUnderWay > now_ns));
  });
  if (!read) return read.error();
  read = maps.triggers.for_each([&](const iocx_trigger_key& key, const iocx_trigger& trigger) {
    if (key.slot != slot || key.generation != generation) return;
    if (!puts && (key.trigger & IOCX_TRIGGER_PUT) != 0) return;
    lists.emplace(key.trigger, passes(trigger.count, trigger.last_ns + kUnderWay > now_ns));
  });
  if (!read) return read.error();
  return lists;
}

Result<void> forget_scan_lists(const RecordMaps& maps, std::uint32_t slot) {
  auto lists =
      erase_from(maps.scan_lists, maps.shares, IOCX_SHARE_SCAN_LISTS,
                 [slot](std::uint64_t, const iocx_scan_list& list) { return list.slot == slot; });
  auto triggers = forget_triggers(maps, slot, 0);
  return lists ? std::move(triggers) : std::move(lists);
}

Result<void> forget_triggers(const RecordMaps& maps, std::uint32_t slot, std::uint64_t kind) {
  return erase_from(maps.triggers, maps.shares, IOCX_SHARE_TRIGGERS,
                    [slot, kind](const iocx_trigger_key& key, const iocx_trigger&) {
                      return key.slot == slot && (key.trigger & kind) == kind;
                    });
}

}  // namespace ioc_exporter::records
