#include "exposition/status_page.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/time_text.h"

namespace ioc_exporter::exposition {

StatusIoc* StatusPage::find_ioc(const std::string& ioc) {
  const auto found = std::ranges::find(iocs, ioc, &StatusIoc::name);
  return found == iocs.end() ? nullptr : &*found;
}

std::string plural(std::uint64_t count, const std::string& one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

std::string rate_text(double rate) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f", rate >= 100 || rate == 0 ? 0 : 1, rate);
  return text.data();
}

std::string ago_text(double time, double now) {
  return time > 0 ? span_text(now - time) + " ago" : "";
}

}  // namespace ioc_exporter::exposition
