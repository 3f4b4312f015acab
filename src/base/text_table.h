// Tables for people who read a terminal.
#pragma once

#include <string>
#include <vector>

namespace ioc_exporter {

using TableRow = std::vector<std::string>;

// Columns as wide as their widest cell, two spaces apart, one line a row. Cells are valid UTF-8
// without control characters: see printable_utf8().
std::string text_table(const std::vector<TableRow>& rows);

}  // namespace ioc_exporter
