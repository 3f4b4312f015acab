// RootedFs: the files of a tree that usually is "/", and in tests is a small one made for the test.
#pragma once

#include <dirent.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace ioc_exporter {

class RootedFs {
 public:
  // `root` is a directory; "" and "/" both mean the host's own.
  explicit RootedFs(std::string root = "/");

  // False: what the kernel says about this host, other than in files, is not about this tree.
  bool is_host() const { return root_.empty(); }

  // Absolute path of `path` (which starts with '/') below the root.
  std::string path(std::string_view path) const;

  // Whole content of a file, at most `limit` bytes (what is longer is cut: /proc has no sizes to
  // check).
  Result<std::string> read(std::string_view path, std::size_t limit = 64u << 20) const;
  // The same of a regular file only, else an error at once.
  Result<std::string> read_regular(std::string_view path, std::size_t limit) const;
  // A regular file, to be read: for files that others may have put there. What it is gets decided
  // before it is opened: to open a device may do something, a FIFO lets its writer go on, and a
  // terminal could become ours.
  Result<UniqueFd> open_regular(std::string_view path) const;
  // Target of a symbolic link, as it stands (a "/proc/PID/exe" may end in " (deleted)").
  Result<std::string> read_link(std::string_view path) const;
  // Names in a directory without "." and "..", unsorted; the first `most` of them.
  Result<std::vector<std::string>> list(std::string_view path, std::size_t most = SIZE_MAX) const;
  // Opened with the given flags plus O_CLOEXEC.
  Result<UniqueFd> open(std::string_view path, int flags) const;

 private:
  std::string root_;
};

// Folder: one directory that is kept open while many small files below it are read, as below
// /proc/PID/task. Cheaper than a whole path for each, and what it shows is one process' to the end:
// when that process has ended, reading fails, also when its pid was given out again.
class Folder {
 public:
  static Result<Folder> open(const RootedFs& fs, std::string_view path);

  // Content of a file below this folder by one read(2), in `buffer`; nothing when it cannot be
  // read. `name` ends in a zero byte.
  std::optional<std::string_view> read(const char* name, std::span<char> buffer) const;
  // The target of a symbolic link below this folder, in `buffer`, which cuts a longer one; nothing
  // when it cannot be read. `name` ends in a zero byte.
  std::optional<std::string_view> link(const char* name, std::span<char> buffer) const;
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
