// RootedFs: the files of a tree that usually is "/", and in tests is a small one made for the test.
#pragma once

#include <cstddef>
#include <cstdint>
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

}  // namespace ioc_exporter
