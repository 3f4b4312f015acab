// SameFiles: numbers for files, one for each inode of the kernel.
//
// Two containers of one image show two devices for what the kernel has one inode of: it would hit
// the probes of both for each of their calls.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "probes/row.h"

namespace ioc_exporter::probes {

// Not thread-safe.
class SameFiles {
 public:
  // `offset`: of a function in it.
  std::uint64_t number_of(const CodeFilePtr& file, std::uint64_t offset);
  // 0: it has none.
  std::uint64_t known(const elf::CodeFile& file) const;
  // Forgets files that nobody else holds.
  void forget_unused();

 private:
  using Inode = std::pair<std::uint64_t, std::uint64_t>;  // and its device
  struct Known {
    std::set<CodeFilePtr> files;  // the same, opened several times
    std::uint64_t number = 0;
  };
  static Inode inode_of(const elf::CodeFile& file) { return {file.id().device, file.id().inode}; }
  std::map<Inode, Known> known_;
  std::uint64_t last_ = 0;
};

}  // namespace ioc_exporter::probes
