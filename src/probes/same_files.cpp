#include "probes/same_files.h"

#include <vector>

#include "base/log.h"
#include "base/same_inode.h"

namespace ioc_exporter::probes {

std::uint64_t SameFiles::number_of(const CodeFilePtr& file, std::uint64_t offset) {
  if (const auto found = known_.find(inode_of(*file)); found != known_.end()) {
    found->second.files.insert(file);
    return found->second.number;
  }
  std::vector<const Known*> alike;
  std::vector<int> fds;
  for (const auto& [inode, one] : known_) {
    const elf::CodeFile& other = **one.files.begin();
    if (!other.resembles(*file)) continue;
    alike.push_back(&one);
    fds.push_back(other.fd());
  }
  std::uint64_t number = 0;
  if (!fds.empty()) {
    const auto same = find_same_inode(file->fd(), fds, offset);
    if (!same) log::warn("compare two library files: {}", same.error().message());
    if (same && *same) number = alike[**same]->number;
  }
  if (number == 0) number = ++last_;
  known_.emplace(inode_of(*file), Known{{file}, number});
  return number;
}

std::uint64_t SameFiles::known(const elf::CodeFile& file) const {
  const auto found = known_.find(inode_of(file));
  return found == known_.end() ? 0 : found->second.number;
}

void SameFiles::forget_unused() {
  for (auto& [inode, one] : known_)
    std::erase_if(one.files, [](const CodeFilePtr& file) { return file.use_count() == 1; });
  std::erase_if(known_, [](const auto& one) { return one.second.files.empty(); });
}

}  // namespace ioc_exporter::probes
