// LineFile: lines of JSON in a file, which is rotated when it is large or old.
//
// The file holds whole lines: of a write that the disk had no room for, the part of a line
// is taken back, and a part that a killed exporter left is cut when the next one opens the file. It
// knows its lines by what they begin with, {"time":
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"
#include "delivery/sink.h"

namespace ioc_exporter::delivery {

// PATH is written to, PATH.1 is the one before, and so on. Mode 0640, nobody but the owner of its
// folder may write to that.
struct LogFile {
  std::string path;
  unsigned count = 10;  // of older ones that are kept
};
// Whether that may be one: an absolute path, or "" for none.
Result<void> check_log_path(const std::string& path);

struct FileBounds {
  std::uint64_t size = 100u << 20;
  std::chrono::milliseconds age = std::chrono::hours(24);  // 0: whatever its age
};

class LineFile {
 public:
  LineFile(LogFile log, FileBounds bounds) : log_(std::move(log)), bounds_(bounds) {}

  // Before the first line, so that what is wrong with the path is told at the start.
  Result<void> open();

  // Appends the line of this number, without its end.
  using AppendLine = std::function<void(std::string& out, std::size_t line)>;
  Delivered deliver(std::size_t lines, const AppendLine& append);

 private:
  Result<void> use(Result<UniqueFd> opened);
  Result<void> mend_end();
  Result<void> rotate_for(std::size_t more);
  Delivered write(std::size_t first, std::size_t end, const AppendLine& append);
  bool is_old() const;
  bool is_gone() const;

  const LogFile log_;
  const FileBounds bounds_;
  UniqueFd file_;  // none: to be opened
  std::uint64_t size_ = 0;
  std::chrono::system_clock::time_point begun_{};
};

// A sink that writes them.
template <class Entry>
class FileSink : public Sink<Entry> {
 public:
  using Append = void (*)(std::string& out, const Entry& entry);
  FileSink(LogFile log, FileBounds bounds, Append append)
      : file_(std::move(log), bounds), append_(append) {}

  Result<void> open() override { return file_.open(); }
  Delivered deliver(std::span<const Entry> entries) override {
    return file_.deliver(entries.size(), [this, entries](std::string& out, std::size_t line) {
      append_(out, entries[line]);
    });
  }

 private:
  LineFile file_;
  const Append append_;
};

}  // namespace ioc_exporter::delivery
