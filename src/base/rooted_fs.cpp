#include "base/rooted_fs.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "base/unique_fd.h"

namespace ioc_exporter {
namespace {

Result<std::string> read_all(const UniqueFd& fd, const std::string& path, std::size_t limit) {
  std::string content;
  char chunk[16384];
  while (content.size() < limit) {
    const ssize_t got = ::read(fd.get(), chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return last_error("read " + path);
    if (got == 0) break;
    content.append(chunk, static_cast<std::size_t>(got));
  }
  if (content.size() > limit) content.resize(limit);
  if (content.starts_with("\xEF\xBB\xBF")) content.erase(0, 3);  // of an editor on Windows
  return content;
}

}  // namespace

RootedFs::RootedFs(std::string root) : root_(std::move(root)) {
  while (!root_.empty() && root_.back() == '/') root_.pop_back();
}

std::string RootedFs::path(std::string_view path) const {
  std::string full = root_;
  full += path;
  return full;
}

Result<UniqueFd> RootedFs::open(std::string_view path_in_root, int flags) const {
  const std::string full = path(path_in_root);
  UniqueFd fd(::open(full.c_str(), flags | O_CLOEXEC));
  if (!fd) return last_error("open " + full);
  return fd;
}

Result<std::string> RootedFs::read(std::string_view path_in_root, std::size_t limit) const {
  auto fd = open(path_in_root, O_RDONLY);
  if (!fd) return std::move(fd).error();
  return read_all(*fd, path(path_in_root), limit);
}

Result<std::string> RootedFs::read_regular(std::string_view path_in_root, std::size_t limit) const {
  auto fd = open_regular(path_in_root);
  if (!fd) return std::move(fd).error();
  return read_all(*fd, path(path_in_root), limit);
}

// Opened through the descriptor that was checked: the path may lead elsewhere by then.
Result<UniqueFd> RootedFs::open_regular(std::string_view path_in_root) const {
  const auto place = open(path_in_root, O_PATH);
  if (!place) return place.error();
  const std::string action = "open " + path(path_in_root);
  struct stat status {};
  if (::fstat(place->get(), &status) != 0) return last_error(action);
  if (!S_ISREG(status.st_mode)) return error_in_words(action + ": not a regular file");
  const std::string same = "/proc/self/fd/" + std::to_string(place->get());
  UniqueFd fd(::open(same.c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return last_error(action);
  return fd;
}

Result<std::string> RootedFs::read_link(std::string_view path_in_root) const {
  const std::string full = path(path_in_root);
  char target[PATH_MAX];
  const ssize_t length = ::readlink(full.c_str(), target, sizeof target);
  if (length < 0) return last_error("read link " + full);
  return std::string(target, static_cast<std::size_t>(length));
}

Result<std::vector<std::string>> RootedFs::list(std::string_view path_in_root,
                                                std::size_t most) const {
  const std::string full = path(path_in_root);
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(full.c_str()), ::closedir);
  if (!dir) return last_error("list " + full);
  std::vector<std::string> names;
  for (errno = 0; const dirent* entry = ::readdir(dir.get()); errno = 0) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() == most) return names;
    names.emplace_back(name);
  }
  if (errno != 0) return last_error("list " + full);
  return names;
}

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

std::optional<std::string_view> Folder::link(const char* name, std::span<char> buffer) const {
  const ssize_t got = ::readlinkat(::dirfd(dir_.get()), name, buffer.data(), buffer.size());
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
