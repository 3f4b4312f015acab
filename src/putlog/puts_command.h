// ioc_exporter puts: puts, live, from the running exporter's memory or from the put log's files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/command_line.h"

namespace ioc_exporter::putlog {

// Prints events as they come.
Command puts_command();

// Server-sent events (their data, a text each), from pieces of the stream.
class EventStream {
 public:
  std::vector<std::string> take(std::string_view piece);
  // The server has let go of us: we were too slow.
  bool was_too_slow() const { return too_slow_; }

 private:
  std::string remainder_;  // of a line
  std::string data_, name_;
  bool too_slow_ = false;
};

// Lines of JSON, from pieces of them.
class LineStream {
 public:
  // False: one is no event.
  bool take(std::string_view piece, std::vector<std::string>& lines);
  // "" = there is none, after the last piece.
  std::string problem() const {
    return problem_.empty() && !remainder_.empty() ? "a line is cut" : problem_;
  }
  // Since when the exporter knows puts, where that is later than asked for; "" = it is not.
  const std::string& reach() const { return reach_; }

 private:
  std::string remainder_, problem_, reach_;
};

}  // namespace ioc_exporter::putlog
