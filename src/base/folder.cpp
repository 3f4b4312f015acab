#include "base/folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/unique_fd.h"

namespace ioc_exporter {

Result<Folder> Folder::open(const RootedFs& fs, std::string_view path) {
  auto fd = fs.open(path, O_RDONLY | O_DIRECTORY);
  if (!fd) return std::move(fd).error();
  DIR* const dir = ::fdopendir(fd->get());
  if (dir == nullptr) return last_error("list " + fs.path(path));
  fd->release();
  return Folder(dir);
}

std::optional<std::string_view> Folder::read(const char* name, std::span<char> buffer) const {
  const UniqueFd fd(::openat(::dirfd(dir_.get()), name, O_RDONLY | O_CLOEXEC));
  if (!fd) return {};
  ssize_t got = 0;
  do {
    got = ::read(fd.get(), buffer.data(), buffer.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0) return {};
  return std::string_view(buffer.data(), static_cast<std::size_t>(got));
}

std::vector<int> Folder::numbers() const {
  std::vector<int> found;
  ::rewinddir(dir_.get());
  while (const dirent* entry = ::readdir(dir_.get())) {
    int number = 0;
    const char* const last = entry->d_name + std::strlen(entry->d_name);
    const auto [stop, error] = std::from_chars(entry->d_name, last, number);
    if (error == std::errc{} && stop == last && number > 0) found.push_back(number);
  }
  return found;
}

}  // namespace ioc_exporter
