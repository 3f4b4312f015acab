#include "exposition/status_page.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>

#include "base/command_line.h"
#include "base/time_text.h"
#include "base/value_text.h"

namespace ioc_exporter::exposition {

StatusIoc* StatusPage::find_ioc(const std::string& ioc) {
  const auto found = std::ranges::find(iocs, ioc, &StatusIoc::name);
  return found == iocs.end() ? nullptr : &*found;
}

std::string table_text(const StatusTable& table) {
  if (table.rows.empty()) return {};
  std::vector<TableRow> rows(1);
  for (const StatusTable::Column& column : table.columns) {
    std::string& head = rows[0].emplace_back(column.title);
    for (char& c : head)
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  for (const auto& cells : table.rows)
    std::ranges::transform(cells, std::back_inserter(rows.emplace_back()), terminal_cell);
  return text_table(rows) + (table.rest.empty() ? "" : table.rest + "\n");
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
