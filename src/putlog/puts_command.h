// ioc_exporter puts: puts, live, from the running exporter's memory or from the put log's files.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ioc_exporter::putlog {

// Statuses: 0 done, 1 no exporter answered (as it should) or a file cannot be read, 2 wrong usage,
// 3 of --since: there were none. `arguments` are those after "puts". Prints as events come.
int puts_command(int count, const char* const* arguments, std::FILE* out, std::FILE* err);

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

// Lines of JSON, from pieces of them.
class LineStream {
 public:
  // False: one is no event.
  bool take(std::string_view piece, std::vector<std::string>& lines);
  // "" = there is none, after the last piece.
  std::string problem() const {
    return problem_.empty() && !rest_.empty() ? "a line is cut" : problem_;
  }
  // Since when the exporter knows puts, where that is later than asked for; "" = it is not.
  const std::string& reach() const { return reach_; }

 private:
  std::string rest_, problem_, reach_;
};

}  // namespace ioc_exporter::putlog
