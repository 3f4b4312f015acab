// The tables of top, from two readings. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "top/reading.h"

namespace ioc_exporter::top {

enum class By : std::uint8_t { records, iocs, clients };

struct Table {
  std::string summary;  // one line about the host
  // The first one is the head, the busiest first; cells are fit for a terminal.
  std::vector<std::vector<std::string>> rows;
  std::vector<bool> numbers;  // columns that stand to the right
  std::string note;           // "" = none
};

// Idle rows are left out; at most `most` rows below the head.
Table table_of(By by, const Reading& before, const Reading& now, std::size_t most);

// The first characters of a text.
std::string cut_to(const std::string& text, std::size_t width);

// One line for each row, columns aligned. No line is longer than `width` characters.
std::vector<std::string> lines_of(const Table& table, std::size_t width);

}  // namespace ioc_exporter::top
