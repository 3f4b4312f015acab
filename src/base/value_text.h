// Values as an operator writes them, in a flag or in a file, and as an error shows them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace ioc_exporter {

// `text` in quotes: cut where it is long, on one line.
std::string shown(const std::string& text);

// Decimal digits only. The error: "many" is no whole number from 1 to 10.
Result<std::uint64_t> parse_whole_number(const std::string& text, std::uint64_t least,
                                         std::uint64_t most);

// "67108864", "64MiB" (also KiB, GiB). The error: "much" is no size such as 512MiB.
Result<std::uint64_t> parse_bytes(const std::string& text);
// "64MiB", "1536KiB", "17".
std::string bytes_text(std::uint64_t bytes);

// The error: "nan" is no number from 0 to 10.
Result<double> parse_number(const std::string& text, double least, double most);

// Tables for a terminal.

using TableRow = std::vector<std::string>;

// Columns as wide as their widest cell, two spaces apart, one line a row. Cells are valid UTF-8
// without control characters: see printable_utf8().
std::string text_table(const std::vector<TableRow>& rows);

}  // namespace ioc_exporter
