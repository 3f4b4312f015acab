#include "iocs/file_cache.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "iocs/base_version.h"

namespace ioc_exporter::iocs {
namespace {

FileId identity(const struct stat& status) {
  return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
          status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec};
}

}  // namespace

FileCache::FileCache(const RootedFs& fs, std::vector<std::string> wanted, std::size_t capacity)
    : fs_(fs), wanted_(std::move(wanted)), capacity_(std::max<std::size_t>(capacity, 1)) {}

Result<UniqueFd> FileCache::open_same(const std::string& path, const FileId& id) const {
  auto fd = fs_.open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK);
  if (!fd) return fd;
  struct stat status;
  if (::fstat(fd->get(), &status) != 0) return last_error("stat " + fs_.path(path));
  if (identity(status) != id)
    return error_in_words("open " + fs_.path(path) + ": it changed meanwhile");
  return fd;
}

Result<std::shared_ptr<const FileFacts>> FileCache::look(const std::string& path) {
  const std::string full = fs_.path(path);
  struct stat status;
  if (::stat(full.c_str(), &status) != 0) return last_error("stat " + full);
  const FileId id = identity(status);
  if (const auto known = entries_.find(id);
      known != entries_.end() && Clock::now() < known->second.expires) {
    known->second.used = ++uses_;
    return known->second.facts;
  }

  auto facts = std::make_shared<FileFacts>();
  facts->id = id;
  Entry entry;
  if (!S_ISREG(status.st_mode)) {
    facts->problem = "not a regular file";
  } else {
    auto fd = open_same(path, id);
    if (!fd) return std::move(fd).error();
    ++files_read_;
    auto elf = ElfSymbols::read(fd->get(), path, wanted_);
    if (elf)
      facts->elf = std::move(*elf);
    else
      facts->problem = elf.error().message();
    char magic[4] = {};
    const bool claims_elf =
        ::pread(fd->get(), magic, 4, 0) != 4 || std::string_view(magic, 4) == "\177ELF";
    facts->retry = !elf && claims_elf;
    if (facts->retry) entry.expires = Clock::now() + std::chrono::minutes(1);
  }
  entry.facts = facts;
  entry.used = ++uses_;
  entries_.insert_or_assign(id, std::move(entry));
  make_room();
  return std::shared_ptr<const FileFacts>(std::move(facts));
}

std::string FileCache::base_version(const std::string& path, const FileFacts& facts) {
  const auto known = entries_.find(facts.id);
  if (known != entries_.end() && known->second.base_version) return *known->second.base_version;
  if (!facts.elf) return "";
  auto fd = open_same(path, facts.id);
  if (!fd) return "";
  std::string version = base_version_of_file(fd->get(), facts.elf->segments());
  if (known != entries_.end()) known->second.base_version = version;
  return version;
}

void FileCache::make_room() {
  if (entries_.size() <= capacity_) return;
  std::vector<std::uint64_t> ages;
  ages.reserve(entries_.size());
  for (const auto& [id, entry] : entries_) ages.push_back(entry.used);
  // A quarter at a time, so that a full cache does not look for its oldest at every new file.
  const auto cut = ages.begin() + static_cast<std::ptrdiff_t>((ages.size() - 1) / 4);
  std::ranges::nth_element(ages, cut);
  const std::uint64_t limit = *cut;
  std::erase_if(entries_, [&](const auto& item) { return item.second.used <= limit; });
}

}  // namespace ioc_exporter::iocs
