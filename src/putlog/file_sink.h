// FileSink: lines of JSON in a file, which is rotated when it is large or old.
//
// What is in the file is whole lines: of a write that the disk had no room for, the part of a line
// is taken back, and a part that a killed exporter left is cut when the next one opens the file.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/unique_fd.h"
#include "putlog/log_file.h"
#include "putlog/sink.h"

namespace ioc_exporter::putlog {

struct FileBounds {
  std::uint64_t size = 100u << 20;
  std::chrono::milliseconds age = std::chrono::hours(24);  // 0: whatever its age
};

class FileSink : public Sink {
 public:
  // `path` is for errors.
  FileSink(std::string path, FileBounds bounds, OpenLog open)
      : path_(std::move(path)), bounds_(bounds), open_(std::move(open)) {}

  // Before the first event, so that what is wrong with the path is told at the start.
  Result<void> open();

  Delivered deliver(std::span<const Entry> entries) override;

 private:
  Result<void> use(Result<UniqueFd> opened);
  Result<void> mend_end();
  Result<void> rotate_for(std::size_t more);
  Delivered write(std::span<const Entry> entries);
  bool is_old() const;
  bool is_gone() const;

  const std::string path_;
  const FileBounds bounds_;
  const OpenLog open_;
  UniqueFd file_;  // none: to be opened
  std::uint64_t size_ = 0;
  std::chrono::system_clock::time_point begun_{};
};

}  // namespace ioc_exporter::putlog
