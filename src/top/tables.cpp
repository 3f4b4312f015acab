#include "top/tables.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "base/command_line.h"
#include "base/utf8.h"

namespace ioc_exporter::top {
namespace {

constexpr std::size_t kWidestCell = 60;  // characters

std::string fixed(double number, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, number);
  return text;
}

std::string rate_text(double rate) {
  return fixed(rate, 1);
}

// Of one core.
std::string percent_text(double seconds_per_second) {
  return fixed(100 * seconds_per_second, 2);
}

std::string memory_text(double bytes) {
  return fixed(bytes / (1 << 20), 1);
}

double sum_of(const std::vector<Value>& values) {
  double sum = 0;
  for (const Value& one : values) sum += one.value;
  return sum;
}

// Rates of several series of one thing, by the first labels.
std::map<Labels, double> by_first(const std::vector<Value>& values, std::size_t labels) {
  std::map<Labels, double> sums;
  for (const Value& one : values)
    sums[Labels(one.labels.begin(), one.labels.begin() + static_cast<std::ptrdiff_t>(labels))] +=
        one.value;
  return sums;
}

double value_of(const std::map<Labels, double>& values, const Labels& labels) {
  const auto found = values.find(labels);
  return found == values.end() ? 0 : found->second;
}

std::string summary_of(const Reading& before, const Reading& now) {
  const auto up = now.values(Family::ioc_up);
  const auto self = now.rates(Family::record_self, before);
  const auto running = std::ranges::count_if(up, [](const Value& one) { return one.value > 0; });
  return std::to_string(running) + (running == 1 ? " IOC; " : " IOCs; ") +
         rate_text(sum_of(now.rates(Family::ioc_calls, before))) + " records/s" +
         (self.empty() ? ", not timed; "
                       : " take " + percent_text(sum_of(self)) + " % of a core; ") +
         rate_text(sum_of(now.rates(Family::puts, before))) + " puts/s";
}

// A row with its sort key: the greatest first, then by its cells.
struct Ranked {
  double rank = 0, second = 0;
  std::vector<std::string> cells;
};

void add_rows(Table& table, std::vector<Ranked> ranked, std::size_t most) {
  const std::size_t count = std::min(most, ranked.size());
  std::ranges::partial_sort(ranked, ranked.begin() + static_cast<std::ptrdiff_t>(count),
                            [](const Ranked& a, const Ranked& b) {
                              if (a.rank != b.rank) return a.rank > b.rank;
                              if (a.second != b.second) return a.second > b.second;
                              return a.cells < b.cells;
                            });
  for (std::size_t i = 0; i < count; ++i) table.rows.push_back(std::move(ranked[i].cells));
  if (ranked.size() > count) table.note = std::to_string(ranked.size() - count) + " more";
}

void add_records(Table& table, const Reading& before, const Reading& now, std::size_t most) {
  table.rows = {{"IOC", "RECORD", "SELF %", "CALLS/S", "µs/CALL"}};
  table.numbers = {false, false, true, true, true};
  const auto self = by_first(now.rates(Family::record_self, before), 3);
  std::vector<Ranked> ranked;
  for (const Value& calls : now.rates(Family::record_calls, before)) {
    // With --series=site times are by record type only.
    const auto found = self.find({calls.labels[0], calls.labels[1], ""});
    const double own = found == self.end() ? 0 : found->second;
    if (calls.value <= 0 && own <= 0) continue;
    ranked.push_back({own,
                      calls.value,
                      {terminal_cell(calls.labels[0]), terminal_cell(calls.labels[1]),
                       found == self.end() ? "-" : percent_text(own), rate_text(calls.value),
                       calls.value > 0 && own > 0 ? fixed(1e6 * own / calls.value, 1) : "-"}});
  }
  add_rows(table, std::move(ranked), most);
}

void add_iocs(Table& table, const Reading& before, const Reading& now, std::size_t most) {
  table.rows = {{"IOC", "CPU %", "SELF %", "CALLS/S", "PUTS/S", "CIRCUITS", "MIB"}};
  table.numbers = {false, true, true, true, true, true, true};
  const auto cpu = by_first(now.rates(Family::ioc_cpu, before), 1);
  const auto self = by_first(now.rates(Family::record_self, before), 1);
  const auto calls = by_first(now.rates(Family::ioc_calls, before), 1);
  const auto puts = by_first(now.rates(Family::puts, before), 1);
  const auto memory = by_first(now.values(Family::ioc_memory), 1);
  const auto circuits = by_first(now.values(Family::circuits), 1);
  std::vector<Ranked> ranked;
  for (const Value& up : now.values(Family::ioc_up)) {
    if (up.value <= 0) {
      ranked.push_back({-1, 0, {terminal_cell(up.labels[0]), "down", "-", "-", "-", "-", "-"}});
      continue;
    }
    const auto circuit = circuits.find(up.labels), bytes = memory.find(up.labels);
    const auto own = self.find(up.labels);
    ranked.push_back({value_of(cpu, up.labels),
                      value_of(calls, up.labels),
                      {terminal_cell(up.labels[0]), percent_text(value_of(cpu, up.labels)),
                       own == self.end() ? "-" : percent_text(own->second),
                       rate_text(value_of(calls, up.labels)), rate_text(value_of(puts, up.labels)),
                       circuit == circuits.end() ? "-" : fixed(circuit->second, 0),
                       bytes == memory.end() ? "-" : memory_text(bytes->second)}});
  }
  add_rows(table, std::move(ranked), most);
}

void add_clients(Table& table, const Reading& before, const Reading& now, std::size_t most) {
  table.rows = {{"CLIENT", "USER", "PUTS/S", "IOCS", "PVS", "MOST WRITTEN"}};
  table.numbers = {false, false, true, true, true, false};
  struct Client {
    double puts = 0, most = 0;
    std::set<std::string> iocs;
    std::map<std::string, double> pvs;
  };
  std::map<Labels, Client> clients;  // by address, user and host
  for (const Value& one : now.rates(Family::puts, before)) {
    if (one.value <= 0) continue;
    Client& client = clients[{one.labels[2], one.labels[3], one.labels[4]}];
    client.puts += one.value;
    client.iocs.insert(one.labels[0]);
    client.pvs[one.labels[1]] += one.value;
  }
  std::vector<Ranked> ranked;
  for (const auto& [who, client] : clients) {
    const auto pv =
        std::ranges::max_element(client.pvs, {}, [](const auto& one) { return one.second; });
    ranked.push_back(
        {client.puts,
         0,
         {terminal_cell(who[0]), terminal_cell(who[1] + (who[2].empty() ? "" : "@" + who[2])),
          rate_text(client.puts), std::to_string(client.iocs.size()),
          std::to_string(client.pvs.size()), terminal_cell(pv->first)}});
  }
  add_rows(table, std::move(ranked), most);
}

std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

Table table_of(By by, const Reading& before, const Reading& now, std::size_t most) {
  Table table;
  table.summary = summary_of(before, now);
  switch (by) {
    case By::records:
      add_records(table, before, now, most);
      break;
    case By::iocs:
      add_iocs(table, before, now, most);
      break;
    case By::clients:
      add_clients(table, before, now, most);
      break;
  }
  if (now.left_out() > 0)
    table.note += (table.note.empty() ? "" : "; ") + std::to_string(now.left_out()) +
                  " series are too many, and left out";
  return table;
}

std::string cut_to(const std::string& text, std::size_t width) {
  std::size_t at = 0;
  for (std::size_t count = 0; at < text.size() && count < width; ++count)
    at += std::max<std::size_t>(1, utf8_sequence(std::string_view(text).substr(at)));
  return text.substr(0, at);
}

std::vector<std::string> lines_of(const Table& table, std::size_t width) {
  std::vector<std::size_t> widths(table.numbers.size(), 0);
  for (const auto& row : table.rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], std::min(width_of(row[i]), kWidestCell));
  std::vector<std::string> lines;
  for (const auto& row : table.rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string cell = cut_to(row[i], kWidestCell);
      const std::string blanks(widths[i] - width_of(cell), ' ');
      if (i > 0) line += "  ";
      line += table.numbers[i] ? blanks + cell : cell + blanks;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(cut_to(line, width));
  }
  return lines;
}

}  // namespace ioc_exporter::top
