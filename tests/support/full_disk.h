// The child that was started last cannot make its files larger, as on a disk that is full.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace ioc_exporter {

class FullDisk {
 public:
  FullDisk() {
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
      std::ifstream children(thread.path() / "children");
      for (pid_t pid = 0; children >> pid;) child_ = std::max(child_, pid);
    }
    limit({60, RLIM_INFINITY});
  }
  ~FullDisk() noexcept(false) { limit({RLIM_INFINITY, RLIM_INFINITY}); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  void limit(const rlimit& bytes) const {
    if (child_ == 0 || ::prlimit(child_, RLIMIT_FSIZE, &bytes, nullptr) != 0)
      throw std::runtime_error("limit the files of a child");
  }

  pid_t child_ = 0;
};

}  // namespace ioc_exporter
