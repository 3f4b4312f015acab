// SameFiles: numbers for files, one for each inode of the kernel.
//
// Two containers of one image show two devices for what the kernel has one inode of: it would hit
// the probes of both for each of their calls.
//
// It keeps no file open: a file that nobody else holds any more is forgotten.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
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

 private:
  using Inode = std::pair<std::uint64_t, std::uint64_t>;  // and its device
  struct Known {
    // The same, opened several times.
    std::set<std::weak_ptr<const elf::CodeFile>, std::owner_less<>> files;
    std::uint64_t number = 0;
    // One that somebody holds; null: there is none.
    CodeFilePtr held() const;
  };
  static Inode inode_of(const elf::CodeFile& file) { return {file.id().device, file.id().inode}; }
  std::map<Inode, Known> known_;
  std::uint64_t last_ = 0;
};

}  // namespace ioc_exporter::probes
