// A log file and its older ones: PATH is written to, PATH.1 is the one before, and so on.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace ioc_exporter::delivery {

struct LogFile {
  std::string path;
  unsigned count = 10;  // of older ones that are kept
};

// Whether that may be one: an absolute path, or "" for none.
Result<void> check_log_path(const std::string& path);

// Opens the file to append to it, and makes it where it is missing: mode 0640, nobody but the owner
// of its folder may write to that. One exporter has it at a time: device_or_resource_busy, after
// some seconds, in which one that was killed may end.
// `rotate`: the file becomes the first of the older ones, of which the last goes; a new one is
// opened.
Result<UniqueFd> open_log(const LogFile& file, bool rotate = false);

}  // namespace ioc_exporter::delivery
