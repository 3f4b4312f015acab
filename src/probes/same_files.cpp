#include "probes/same_files.h"

#include <vector>

#include "base/log.h"
#include "base/same_inode.h"

namespace ioc_exporter::probes {

std::uint64_t SameFiles::number_of(const CodeFilePtr& file, std::uint64_t offset) {
  if (const std::uint64_t number = known(*file)) return number;
  std::vector<const Known*> alike;
  std::vector<int> files;
  for (const auto& [inode, one] : known_) {
    if (!one.file->resembles(*file)) continue;
    alike.push_back(&one);
    files.push_back(one.file->fd());
  }
  std::uint64_t number = 0;
  if (!files.empty()) {
    const auto same = find_same_inode(file->fd(), files, offset);
    if (!same) log::warn("compare two library files: {}", same.error().message());
    if (same && *same) number = alike[**same]->number;
  }
  if (number == 0) number = ++last_;
  known_.emplace(inode_of(*file), Known{file, number});
  return number;
}

std::uint64_t SameFiles::known(const elf::CodeFile& file) const {
  const auto found = known_.find(inode_of(file));
  return found == known_.end() ? 0 : found->second.number;
}

void SameFiles::keep(const std::set<std::uint64_t>& numbers) {
  std::erase_if(known_, [&](const auto& one) { return !numbers.contains(one.second.number); });
}

}  // namespace ioc_exporter::probes
