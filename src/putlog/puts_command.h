// ioc_exporter puts: puts, live or from the running exporter's memory.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace ioc_exporter::putlog {

// Statuses: 0 done, 1 no exporter answered (as it should), 2 wrong usage, 3 of --since: there were
// none. `arguments` are those after "puts". Prints as events come.
int puts_command(int count, const char* const* arguments, std::FILE* out, std::FILE* err);

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

// Server-sent events (their data, a text each), from pieces of the stream.
class EventStream {
 public:
  std::vector<std::string> take(std::string_view piece);
  // The server has let go of us: we were too slow.
  bool was_too_slow() const { return too_slow_; }

 private:
  std::string rest_;  // of a line
  std::string data_, name_;
  bool too_slow_ = false;
};

// Lines of JSON, from pieces of them; one with the key "error" has the problem.
class LineStream {
 public:
  // False: one is no event, or has an error.
  bool take(std::string_view piece, std::vector<std::string>& lines);
  // "" = there is none, after the last piece.
  std::string problem() const {
    return problem_.empty() && !rest_.empty() ? "a line is cut" : problem_;
  }

 private:
  std::string rest_, problem_;
};

}  // namespace ioc_exporter::putlog
