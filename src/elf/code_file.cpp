#include "elf/code_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/same_inode.h"
#include "elf/function_entry.h"
#include "kernel/hit_cost.h"

namespace ioc_exporter::elf {
namespace {

constexpr std::size_t kHead = 4096;
constexpr std::size_t kBegin = 64;

std::int64_t nanoseconds(const timespec& time) {
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

// Fewer bytes than asked for: the file ends there.
Result<std::string> bytes_at(int fd, std::uint64_t offset, std::size_t size) {
  std::string bytes(size, '\0');
  const ssize_t got = ::pread(fd, bytes.data(), size, static_cast<off_t>(offset));
  if (got < 0) return last_error("read it");
  bytes.resize(static_cast<std::size_t>(got));
  return bytes;
}

}  // namespace

FileId file_id(const struct stat& status) {
  return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
          nanoseconds(status.st_mtim)};
}

Result<std::shared_ptr<const CodeFile>> CodeFile::open(UniqueFd fd, const std::string& path,
                                                       const std::vector<CodeRange>& functions) {
  const std::string action = "keep " + path + " open";
  struct stat status;
  if (::fstat(fd.get(), &status) != 0) return last_error(action);
  if (!S_ISREG(status.st_mode)) return error_in_words(action + ": not a regular file");
  std::shared_ptr<CodeFile> file(new CodeFile);
  file->id_ = file_id(status);
  file->ctime_ns_ = nanoseconds(status.st_ctim);
  auto head = bytes_at(fd.get(), 0, kHead);
  if (!head) return Error{head.error().code, action};
  file->head_ = std::move(*head);
  for (const CodeRange& function : functions) {
    auto begin =
        bytes_at(fd.get(), function.file_offset, std::min<std::uint64_t>(function.size, kBegin));
    if (!begin) return Error{begin.error().code, action};
    file->functions_.emplace(function.file_offset,
                             Function{std::move(*begin), entry_of(fd.get(), function)});
  }
  file->fd_ = std::move(fd);
  return std::shared_ptr<const CodeFile>(std::move(file));
}

// The times are no proof that nothing has changed: a write to a mapping of a tmpfs file leaves them
// alone. Nor is another time one that something has: the file's last name may be gone since.
Result<void> CodeFile::may_probe(std::uint64_t offset) const {
  const auto function = functions_.find(offset);
  if (function == functions_.end())
    return error_in_words("the symbol table names no function that begins at " +
                          std::to_string(offset));
  struct stat status;
  if (::fstat(fd_.get(), &status) != 0) return last_error("stat it");
  auto head = bytes_at(fd_.get(), 0, kHead);
  if (!head) return std::move(head).error();
  const std::string& begin = function->second.begin;
  auto now = bytes_at(fd_.get(), offset, begin.size());
  if (!now) return std::move(now).error();
  if (file_id(status).size != id_.size || *head != head_ || *now != begin)
    return error_in_words("the file was changed since its symbols were read");
  if (nanoseconds(status.st_ctim) == ctime_ns_) return {};
  const UniqueFd again(::open(attach_path().c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  if (!again) return last_error("open it again");
  const int others[] = {again.get()};
  auto same = find_same_inode(fd_.get(), others, offset);
  if (!same) return std::move(same).error();
  if (!*same) return error_in_words("its overlay file system has made a copy of it since");
  return {};
}

FunctionEntry CodeFile::entry(std::uint64_t offset) const {
  const auto function = functions_.find(offset);
  FunctionEntry entry =
      function == functions_.end() ? FunctionEntry{offset, true} : function->second.entry;
  if (entry.long_nop) entry.stepped = !kernel::hit_cost().emulates_long_nops;
  return entry;
}

bool CodeFile::resembles(const CodeFile& other) const {
  return id_.size == other.id_.size && id_.mtime_ns == other.id_.mtime_ns && head_ == other.head_ &&
         functions_ == other.functions_;
}

}  // namespace ioc_exporter::elf
