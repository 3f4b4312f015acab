// Output of ioc_exporter puts: lines of JSON, and tables. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace ioc_exporter::putlog {

// Events as /api/v1/puts gives them, a line each. That has nothing that could steer a terminal;
// another server might, whose events lose those bytes here.
std::string json_lines(const std::vector<std::string>& events);

// Events, one line each, for people. Columns are as wide as the widest cell so far.
class PutsTable {
 public:
  // `days`: times have their day, too.
  explicit PutsTable(bool coloured, bool days = false) : coloured_(coloured), days_(days) {}

  // Lines for events as /api/v1/puts gives them; other lines are left out. The first call
  // has the head, too.
  std::string lines(const std::vector<std::string>& events);

 private:
  const bool coloured_, days_;
  std::vector<std::size_t> widths_;
};

// Seconds since 1970 of a time in JSON; 0: it is none.
double seconds_of(const std::string& time);

// A table of what puts::to_json() has written; nothing: it is not that.
std::optional<std::string> pending_text(const std::string& body, double now, bool* any);

}  // namespace ioc_exporter::putlog
