#include "base/state_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/rooted_fs.h"

namespace ioc_exporter {
namespace {

constexpr mode_t kFileMode = 0640, kFolderMode = 0750;

Result<UniqueFd> open_file(int folder, const std::string& path, const char* name) {
  UniqueFd file(
      ::openat(folder, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, kFileMode));
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

}  // namespace

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t sum = 14695981039346656037u;
  for (const char each : text) sum = (sum ^ static_cast<unsigned char>(each)) * 1099511628211u;
  return sum;
}

Result<void> check_owned(int fd, const std::string& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return last_error("look at " + path);
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return error_in_words("use " + path + ": others than its owner may write to it");
  return {};
}

Result<StateFiles> StateFiles::open(const std::string& folder, const Names& names) {
  if (::mkdir(folder.c_str(), kFolderMode) != 0 && errno != EEXIST)
    return last_error("make folder " + folder);
  const UniqueFd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return last_error("open folder " + folder);
  if (auto ok = check_owned(opened.get(), folder); !ok) return ok.error();
  StateFiles files;
  files.folder_ = folder;
  files.names_ = names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto one = open_file(opened.get(), folder + "/" + names[i], names[i]);
    if (!one) return std::move(one).error();
    files.files_[i] = std::move(*one);
  }
  if (::flock(files.files_.front().get(), LOCK_EX | LOCK_NB) != 0)
    return errno == EWOULDBLOCK
               ? error_from_errno(EBUSY, "use " + folder + ": another exporter does")
               : last_error("lock " + folder);
  return files;
}

std::vector<StateFiles::Text> StateFiles::read(const std::string& folder, const Names& names,
                                               std::size_t largest, std::string& problem) {
  std::vector<Text> all;
  for (const char* const name : names) {
    const std::string path = folder + "/" + name;
    auto text = RootedFs().read_regular(path, largest);
    if (!text && text.error().code != std::errc::no_such_file_or_directory)
      problem = text.error().message();
    if (text && !text->empty()) all.push_back({path, std::move(*text)});
  }
  return all;
}

Result<void> StateFiles::write(std::uint64_t generation, std::string_view text) {
  const std::size_t which = generation % files_.size();
  const int file = files_[which].get();
  const std::string action = "write " + folder_ + "/" + names_[which];
  if (::lseek(file, 0, SEEK_SET) != 0) return last_error(action);
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t more = ::write(file, text.data() + done, text.size() - done);
    if (more < 0 && errno != EINTR) return last_error(action);
    if (more > 0) done += static_cast<std::size_t>(more);
  }
  if (::ftruncate(file, static_cast<off_t>(text.size())) != 0) return last_error(action);
  if (::fdatasync(file) != 0) return last_error(action);
  return {};
}

}  // namespace ioc_exporter
