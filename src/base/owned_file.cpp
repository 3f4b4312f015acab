#include "base/owned_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace ioc_exporter {
namespace {

constexpr mode_t kFileMode = 0640, kFolderMode = 0750;

}  // namespace

Result<void> check_owned(int fd, const std::string& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return last_error("look at " + path);
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return error_in_words("use " + path + ": others than its owner may write to it");
  return {};
}

Result<UniqueFd> open_owned_folder(const std::string& path) {
  const auto open = [&path] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); };
  UniqueFd folder(open());  // on a disk that hangs, mkdir(2) of what is there hangs, too
  if (!folder && errno == ENOENT) {
    if (::mkdir(path.c_str(), kFolderMode) != 0 && errno != EEXIST)
      return last_error("make folder " + path);
    folder.reset(open());
  }
  if (!folder) return last_error("open folder " + path);
  if (auto ok = check_owned(folder.get(), path); !ok) return ok.error();
  return folder;
}

Result<UniqueFd> open_owned_file(int folder, const std::string& path, const char* name, int flags) {
  UniqueFd file(::openat(
      folder, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, kFileMode));
  if (!file) return last_error("open " + path);
  if (auto ok = check_owned(file.get(), path); !ok) return ok.error();
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return last_error("look at " + path);
  if (!S_ISREG(status.st_mode)) return error_in_words("open " + path + ": it is no regular file");
  if (status.st_nlink != 1)
    return error_in_words("open " + path + ": the file has another name, too");
  if (::fchmod(file.get(), kFileMode) != 0) return last_error("set the mode of " + path);
  return file;
}

}  // namespace ioc_exporter
