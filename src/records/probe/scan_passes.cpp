#include "records/probe/scan_passes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

namespace ioc_exporter::records {
namespace {

constexpr std::array<std::string_view, 7> kUsual = {"10", "5", "2", "1", "0.5", "0.2", "0.1"};

}  // namespace

bool is_usual_scan_period(std::string_view period) {
  return std::ranges::find(kUsual, period) != kUsual.end();
}

iocx_scan_name scan_name(std::uint32_t generation, std::string_view period) {
  iocx_scan_name name{};
  name.generation = generation;
  const std::string text = "scan-" + std::string(period);
  std::memcpy(name.comm, text.data(), std::min(text.size(), sizeof name.comm - 1));
  return name;
}

Result<void> add_usual_scan_names(const kernel::MapView<iocx_scan_name, std::uint8_t>& names) {
  for (const std::string_view period : kUsual)
    if (auto ok = names.update(scan_name(0, period), 1); !ok) return ok;
  return {};
}

static_assert(sizeof(iocx_scan_list) == 64 + IOCX_PUT_HIST_SLOTS * 8);
static_assert(offsetof(iocx_scan_list, comm) == 8 && offsetof(iocx_scan_list, buckets) == 64);

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

Result<void> forget_scan_lists(const RecordMaps& maps, std::uint32_t slot) {
  std::vector<std::pair<std::uint64_t, iocx_holder>> gone;
  auto read = maps.scan_lists.for_each([&](std::uint64_t thread, const iocx_scan_list& list) {
    if (list.slot == slot && list.holder.ioc != 0) gone.emplace_back(thread, list.holder);
  });
  if (!read) return read;
  for (const auto& [thread, holder] : gone) {
    auto erased = maps.scan_lists.erase(thread);
    if (!erased) return std::move(erased).error();
    if (*erased) maps.shares.give(IOCX_SHARE_SCAN_LISTS, holder.ioc, holder.user);
  }
  return {};
}

}  // namespace ioc_exporter::records
