#include "iocs/forgotten.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <utility>

#include "base/owned_file.h"
#include "base/rooted_fs.h"
#include "base/state_files.h"
#include "base/unique_fd.h"
#include "base/utf8.h"

namespace ioc_exporter::iocs {
namespace {

constexpr const char* kName = "/forgotten-iocs";
constexpr std::size_t kLargest = 1u << 20, kLongestName = 4096;

bool read_line(std::string_view line, Forgotten& into) {
  const auto tab = line.find('\t');
  if (tab == std::string_view::npos) return false;
  const auto [end, problem] = std::from_chars(line.data(), line.data() + tab, into.time);
  into.name = printable_utf8(line.substr(tab + 1), kLongestName);
  return problem == std::errc() && end == line.data() + tab && !into.name.empty() &&
         into.name == line.substr(tab + 1);
}

}  // namespace

Result<std::vector<Forgotten>> read_forgotten(const std::string& folder) {
  const std::string path = folder + kName;
  std::vector<Forgotten> all;
  const auto text = RootedFs().read_regular(path, kLargest);
  if (!text && text.error().code == std::errc::no_such_file_or_directory) return all;
  if (!text) return text.error();
  std::size_t number = 0;
  for (std::string_view rest = *text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    ++number;
    Forgotten one;
    if (!read_line(line, one))
      return error_in_words("read " + path + ": line " + std::to_string(number) +
                            ": no time and name");
    all.push_back(std::move(one));
  }
  return all;
}

Result<void> write_forgotten(const std::string& folder, const std::vector<Forgotten>& more) {
  const UniqueFd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return last_error("open folder " + folder);
  if (auto ok = check_owned(opened.get(), folder); !ok) return ok;
  auto all = read_forgotten(folder);
  if (!all) return std::move(all).error();
  all->insert(all->end(), more.begin(), more.end());
  const std::size_t begin = all->size() > kMostForgotten ? all->size() - kMostForgotten : 0;
  std::string text;
  for (std::size_t i = begin; i < all->size(); ++i)
    text += std::to_string((*all)[i].time) + '\t' + (*all)[i].name + '\n';

  const std::string path = folder + kName, fresh = path + ".new";
  const std::string action = "write " + path;
  if (::unlink(fresh.c_str()) != 0 && errno != ENOENT) return last_error(action);
  const UniqueFd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640));
  if (!file) return last_error(action);
  // The exporter runs as the folder's group.
  struct stat status {};
  if (::fstat(opened.get(), &status) != 0 || ::fchmod(file.get(), 0640) != 0 ||
      ::fchown(file.get(), static_cast<uid_t>(-1), status.st_gid) != 0)
    return last_error(action);
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::fsync(file.get()) != 0 || ::rename(fresh.c_str(), path.c_str()) != 0)
    return last_error(action);
  return {};
}

ForgottenWatch::ForgottenWatch(const std::string& folder) : path_(folder + kName) {}

bool ForgottenWatch::has_changed() {
  struct stat status {};
  const bool there = ::stat(path_.c_str(), &status) == 0;
  const auto inode = there ? static_cast<std::int64_t>(status.st_ino) : 0;
  const std::int64_t changed =
      there ? status.st_ctim.tv_sec * 1'000'000'000 + status.st_ctim.tv_nsec : 0;
  return std::exchange(inode_, inode) != inode || std::exchange(changed_ns_, changed) != changed;
}

}  // namespace ioc_exporter::iocs
