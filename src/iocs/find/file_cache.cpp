#include "iocs/find/file_cache.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>

#include "iocs/find/inspector.h"

namespace ioc_exporter::iocs {
namespace {

constexpr std::size_t kMostOpen = 2048;

// As another process may have left it: the time of the last change to a file cannot be set.
bool is_as_read(const FileFacts& facts, const struct stat& status) {
  return !facts.code ||
         facts.code->ctime_ns() == status.st_ctim.tv_sec * 1'000'000'000 + status.st_ctim.tv_nsec;
}

}  // namespace

std::size_t FileCache::most_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMostOpen / 8;
  return std::min<std::size_t>(kMostOpen, limit.rlim_cur / 4);
}

FileCache::FileCache(ProcessReader& reader, Options options)
    : reader_(reader), options_(std::move(options)) {
  options_.capacity = std::max<std::size_t>(options_.capacity, 1);
}

Result<UniqueFd> FileCache::open_same(pid_t pid, const std::string& path, const elf::FileId& id) {
  auto fd = reader_.open(pid, path);
  if (!fd) return fd;
  struct stat status;
  if (::fstat(fd->get(), &status) != 0) return last_error("stat " + path);
  if (elf::file_id(status) != id) return error_in_words("open " + path + ": it changed meanwhile");
  return fd;
}

Result<std::shared_ptr<const FileFacts>> FileCache::facts_of(pid_t pid, const std::string& path) {
  auto status = reader_.status(pid, path);
  if (!status) return std::move(status).error();
  return facts_of(pid, path, *status);
}

Result<std::shared_ptr<const FileFacts>> FileCache::facts_of(pid_t pid, const std::string& path,
                                                             const struct stat& status) {
  const elf::FileId id = elf::file_id(status);
  if (const auto known = entries_.find(id); known != entries_.end() &&
                                            Clock::now() < known->second.expires &&
                                            is_as_read(*known->second.facts, status)) {
    known->second.used = ++uses_;
    return known->second.facts;
  }

  auto facts = std::make_shared<FileFacts>();
  facts->id = id;
  Entry entry;
  if (!S_ISREG(status.st_mode)) {
    facts->problem = "not a regular file";
  } else {
    auto fd = open_same(pid, path, id);
    if (!fd) return std::move(fd).error();
    if (auto done = read(pid, path, *fd, *facts); !done) return done.error();
    ++files_read_;
    if (facts->retry) entry.expires = Clock::now() + std::chrono::minutes(1);
  }
  entry.facts = facts;
  entry.used = ++uses_;
  entries_.insert_or_assign(id, std::move(entry));
  make_room();
  return std::shared_ptr<const FileFacts>(std::move(facts));
}

// An error: not now.
Result<void> FileCache::read(pid_t pid, const std::string& path, UniqueFd& fd, FileFacts& facts) {
  auto elf = reader_.symbols(pid, fd.get(), path);
  if (!elf && is_for_now(elf.error())) return elf.error();
  if (!elf) {
    facts.problem = elf.error().message();
    char magic[4] = {};
    facts.retry = ::pread(fd.get(), magic, 4, 0) != 4 || std::string_view(magic, 4) == "\177ELF";
    return {};
  }
  facts.elf = std::move(*elf);
  const auto has_function = [&facts](std::string_view name) {
    const elf::ElfSymbol* const symbol = facts.elf->find(name);
    return symbol != nullptr && symbol->function;
  };
  // Before Base 3.15 the CA server's functions are in another file than the database's; those of
  // PVA always are.
  if (!has_function(wanted_symbols().front()) &&
      !std::ranges::all_of(Inspector::ca_write_functions(), has_function) &&
      !std::ranges::any_of(Inspector::pva_put_functions(), has_function))
    return {};
  if (!open_.contains(facts.id) && open_.size() >= options_.most_open) {
    facts.problem = "too many library files are open already";
    facts.retry = true;
    return {};
  }
  auto code = elf::CodeFile::open(std::move(fd), path, facts.elf->functions());
  if (code) {
    facts.code = std::move(*code);
    open_.insert(facts.id);
  } else {
    facts.problem = code.error().message();
  }
  facts.retry = !code;
  return {};
}

void FileCache::close_unused() {
  std::erase_if(open_, [this](const auto& one) {
    const auto entry = entries_.find(one);
    const bool used = entry != entries_.end() && entry->second.facts->code.use_count() > 1;
    if (!used && entry != entries_.end()) entries_.erase(entry);
    return !used;
  });
}

std::string FileCache::base_version(pid_t pid, const std::string& path, const FileFacts& facts) {
  const auto known = entries_.find(facts.id);
  if (known != entries_.end() && known->second.base_version) return *known->second.base_version;
  if (!facts.elf) return {};
  const auto fd = open_same(pid, path, facts.id);
  if (!fd) return {};
  const auto version = reader_.base_version(pid, fd->get(), facts.elf->segments());
  if (!version) return {};
  if (known != entries_.end()) known->second.base_version = *version;
  return *version;
}

void FileCache::make_room() {
  if (entries_.size() <= options_.capacity) return;
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
