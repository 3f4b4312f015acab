// Folder: one directory that is kept open while many small files below it are read, as below
// /proc/PID/task. Cheaper than a whole path for each, and what it shows is one process' to the end:
// when that process has ended, reading fails, also when its pid was given out again.
#pragma once

#include <dirent.h>

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/rooted_fs.h"

namespace ioc_exporter {

class Folder {
 public:
  static Result<Folder> open(const RootedFs& fs, std::string_view path);

  // Content of a file below this folder by one read(2), in `buffer`; nothing when it cannot be
  // read. `name` ends in a zero byte.
  std::optional<std::string_view> read(const char* name, std::span<char> buffer) const;
  // The numbers among the names that stand in the folder now: /proc's processes, a process'
  // threads.
  std::vector<int> numbers() const;

 private:
  struct Close {
    void operator()(DIR* dir) const { ::closedir(dir); }
  };
  explicit Folder(DIR* dir) : dir_(dir) {}

  std::unique_ptr<DIR, Close> dir_;
};

}  // namespace ioc_exporter
