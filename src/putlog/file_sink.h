// FileSink: puts as lines of JSON in a file, which is rotated when it is large or old.
#pragma once

#include <string>
#include <utility>

#include "delivery/line_file.h"
#include "putlog/json.h"
#include "putlog/sink.h"

namespace ioc_exporter::putlog {

using delivery::FileBounds;
using delivery::LogFile;
using delivery::OpenLog;

class FileSink : public delivery::FileSink<Entry> {
 public:
  FileSink(std::string path, FileBounds bounds, OpenLog open)
      : delivery::FileSink<Entry>(std::move(path), bounds, std::move(open), append_json) {}
};

}  // namespace ioc_exporter::putlog
