#include "iocs/memory/scan_menu.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "iocs/memory/database_walk.h"

namespace ioc_exporter::iocs {
namespace {

constexpr std::int32_t kMostMenus = 10'000;
constexpr std::int32_t kFirstPeriodic = 3;  // SCAN_1ST_PERIODIC: after Passive, Event, I/O Intr
constexpr std::size_t kLongestName = 64;

// Seconds in one of a choice's units; the number before "Hz" is divided by instead.
struct Unit {
  std::string_view name;
  double seconds;
};
constexpr std::array<Unit, 7> kUnits = {{{"", 1},
                                         {"second", 1},
                                         {"seconds", 1},
                                         {"minute", 60},
                                         {"minutes", 60},
                                         {"hour", 3600},
                                         {"hours", 3600}}};

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::vector<std::string> periods_of(Memory& memory, const layout::DbMenu& menu) {
  std::vector<std::string> periods;
  const auto periodic = static_cast<std::size_t>(std::max(menu.choices - kFirstPeriodic, 0));
  for (std::size_t i = 0; i < std::min(periodic, kMostScanPeriods); ++i) {
    const auto choice = memory.value<std::uint64_t>(menu.values + 8 * (kFirstPeriodic + i));
    if (!choice) break;
    const auto text = read_name(memory, *choice, kLongestName, "choice of menuScan");
    if (text) periods.push_back(scan_period_text(*text, i));
  }
  return periods;
}

}  // namespace

std::string scan_period_text(std::string_view choice, std::size_t number) {
  const std::string text(choice);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  while (std::isspace(static_cast<unsigned char>(*end)) != 0) ++end;
  const std::string unit = lower_case(end);
  double seconds = static_cast<double>(number);
  if (end != text.c_str() && value > 0 && std::isfinite(value)) {
    const auto known = std::ranges::find(kUnits, unit, &Unit::name);
    if (known != kUnits.end())
      seconds = value * known->seconds;
    else if (unit == "hz" || unit == "hertz")
      seconds = 1 / value;
  }
  char name[32];
  std::snprintf(name, sizeof name, "%g", seconds);
  return name;
}

std::vector<std::string> read_scan_periods(Memory& memory, const layout::EllList& menus) {
  std::vector<std::string> periods;
  const auto walked = walk_list(
      memory, menus, kMostMenus, "list of menus", [&](std::uint64_t address) -> Result<void> {
        const auto menu = memory.value<layout::DbMenu>(address);
        if (!menu) return menu.error();
        const auto name = read_name(memory, menu->name, kLongestName, "name of a menu");
        if (name && *name == "menuScan") periods = periods_of(memory, *menu);
        return {};
      });
  return walked ? std::move(periods) : std::vector<std::string>();
}

}  // namespace ioc_exporter::iocs
