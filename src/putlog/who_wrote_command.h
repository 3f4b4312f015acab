// ioc_exporter who-wrote PV: asks the exporter that runs, and reads the put log's files for what
// was before.
#pragma once

#include <cstddef>
#include <string>

#include "base/command_line.h"
#include "base/json_reader.h"

namespace ioc_exporter::putlog {

Command who_wrote_command();

struct WriterText {
  std::string text;
  int status = kNotFound;  // kDone: somebody who wrote; kFailed: it is not known
};
// Of an answer as puts::to_json() writes it; in read_json(). At most `limit` puts (0: all). `now`:
// in seconds since 1970. `before`: about puts before the exporter counted.
WriterText to_text(const Json& answer, std::size_t limit, double now,
                   const std::string& before = "");

}  // namespace ioc_exporter::putlog
