#include "records/memory/scan_lists.h"

#include <cstdio>
#include <cstdlib>
#include <map>

#include "iocs/memory/scan_layout.h"
#include "iocs/memory/variables.h"

namespace ioc_exporter::records {

namespace layout = iocs::layout;
namespace {

constexpr std::int32_t kMostPeriods = 256;
constexpr std::int32_t kMostOnList = 2'000'000;
constexpr double kShortestPeriod = 1e-9, kLongestPeriod = 1e9;  // s

// As spawnPeriodic() in dbScan.c names the list's thread.
std::string period_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", seconds);
  return text;
}

Result<ScanListSample> read_scan_list(const layout::PeriodicScanList& raw) {
  if (!(raw.period >= kShortestPeriod && raw.period <= kLongestPeriod))  // NaN is neither
    return error_in_words("a scan list's period is " + period_text(raw.period) + " s");
  ScanListSample sample;
  sample.period = period_text(raw.period);
  const std::int32_t count = raw.scan_list.list.count;
  if (count < 0 || count > kMostOnList || (count == 0) != (raw.scan_list.list.first == 0))
    return error_in_words("scan list of " + sample.period + " s: " + std::to_string(count) +
                          " records announced");
  sample.records = static_cast<std::uint64_t>(count);
  if (raw.name > layout::kLargestScanCtl) sample.overruns = raw.overruns;
  return sample;
}

// The list changes while it is read: its first node may be there before it is counted.
Result<ScanListSample> read_scan_list_at(iocs::Memory& memory, std::uint64_t address) {
  constexpr int kAttempts = 3;
  Result<ScanListSample> sample = error_in_words("");
  for (int attempt = 0; attempt < kAttempts && !sample; ++attempt) {
    const auto raw = memory.value<layout::PeriodicScanList>(address);
    if (!raw) return raw.error();
    sample = read_scan_list(*raw);
  }
  return sample;
}

void merge(ScanListSample& into, const ScanListSample& other) {
  into.records += other.records;
  if (into.overruns && other.overruns) *into.overruns += *other.overruns;
}

}  // namespace

Result<std::vector<ScanListSample>> read_scan_lists(iocs::Memory& memory,
                                                    const iocs::VariablePlaces& variables) {
  auto counts = iocs::place_of(variables, "nPeriodic");
  if (!counts) return std::move(counts).error();
  auto arrays = iocs::place_of(variables, "papPeriodic");
  if (!arrays) return std::move(arrays).error();
  const auto count = memory.value<std::int32_t>(counts->address);
  if (!count) return count.error();
  const auto array = memory.value<std::uint64_t>(arrays->address);
  if (!array) return array.error();
  if (*count == 0 || *array == 0) return std::vector<ScanListSample>();
  if (*count < 0 || *count > kMostPeriods)
    return error_in_words("nPeriodic is " + std::to_string(*count));
  if (!iocs::is_pointer(*array))
    return error_in_words("papPeriodic is " + iocs::hex_address(*array));

  std::map<double, ScanListSample> by_period;
  for (std::int32_t i = 0; i < *count; ++i) {
    const auto list = memory.value<std::uint64_t>(*array + 8u * static_cast<unsigned>(i));
    if (!list) return list.error();
    if (*list == 0) continue;  // a choice of menuScan that is no period
    if (!iocs::is_pointer(*list))
      return error_in_words("a scan list is at " + iocs::hex_address(*list));
    auto sample = read_scan_list_at(memory, *list);
    if (!sample) return std::move(sample).error();
    const auto [known, is_new] =
        by_period.try_emplace(std::strtod(sample->period.c_str(), nullptr), *sample);
    if (!is_new) merge(known->second, *sample);
  }
  std::vector<ScanListSample> lists;
  for (auto& [period, sample] : by_period) lists.push_back(std::move(sample));
  return lists;
}

}  // namespace ioc_exporter::records
