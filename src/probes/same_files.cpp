#include "probes/same_files.h"

#include <vector>

#include "base/log.h"
#include "base/same_inode.h"

namespace ioc_exporter::probes {

CodeFilePtr SameFiles::Known::held() const {
  for (const auto& one : files)
    if (CodeFilePtr file = one.lock()) return file;
  return nullptr;
}

std::uint64_t SameFiles::number_of(const CodeFilePtr& file, std::uint64_t offset) {
  if (const auto found = known_.find(inode_of(*file));
      found != known_.end() && found->second.held()) {
    found->second.files.insert(file);
    return found->second.number;
  }
  // Another file may have the inode's number next.
  std::erase_if(known_, [](const auto& one) { return !one.second.held(); });
  std::vector<std::pair<CodeFilePtr, std::uint64_t>> alike;
  std::vector<int> fds;
  for (const auto& [inode, one] : known_) {
    CodeFilePtr other = one.held();
    if (!other || !other->resembles(*file)) continue;
    fds.push_back(other->fd());
    alike.emplace_back(std::move(other), one.number);
  }
  std::uint64_t number = 0;
  if (!fds.empty()) {
    const auto same = find_same_inode(file->fd(), fds, offset);
    if (!same) log::warn("compare two library files: {}", same.error().message());
    if (same && *same) number = alike[**same].second;
  }
  if (number == 0) number = ++last_;
  known_.emplace(inode_of(*file), Known{{file}, number});
  return number;
}

std::uint64_t SameFiles::known(const elf::CodeFile& file) const {
  const auto found = known_.find(inode_of(file));
  return found == known_.end() || !found->second.held() ? 0 : found->second.number;
}

}  // namespace ioc_exporter::probes
