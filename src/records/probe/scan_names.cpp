#include "records/probe/scan_names.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

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

}  // namespace ioc_exporter::records
