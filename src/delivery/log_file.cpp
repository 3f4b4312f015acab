#include "delivery/log_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <thread>

#include "base/owned_file.h"
#include "base/value_text.h"

namespace ioc_exporter::delivery {
namespace {

Result<UniqueFd> open_in(int folder, const LogFile& file, const std::string& name) {
  auto opened = open_owned_file(folder, file.path, name.c_str(), O_APPEND);
  if (!opened) return opened;
  int locked = -1;
  for (int i = 0; i < 60 && (locked = ::flock(opened->get(), LOCK_EX | LOCK_NB)) != 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  if (locked == 0) return opened;
  return errno == EWOULDBLOCK
             ? error_from_errno(EBUSY, "use " + file.path + ": another exporter does")
             : last_error("lock " + file.path);
}

Result<void> move_on(int folder, const LogFile& file, const std::string& name) {
  if (file.count == 0) {
    if (::unlinkat(folder, name.c_str(), 0) != 0 && errno != ENOENT)
      return last_error("remove " + file.path);
    return {};
  }
  for (unsigned number = file.count; number > 0; --number) {
    const std::string from = number == 1 ? name : name + "." + std::to_string(number - 1);
    const std::string to = name + "." + std::to_string(number);
    if (::renameat(folder, from.c_str(), folder, to.c_str()) != 0 && errno != ENOENT)
      return last_error("rename " + file.path + " to " + to);
  }
  return {};
}

}  // namespace

Result<void> check_log_path(const std::string& path) {
  if (path.empty() || (path.starts_with('/') && !path.ends_with('/'))) return {};
  return error_in_words(shown(path) + " is no absolute path of a file");
}

Result<UniqueFd> open_log(const LogFile& file, bool rotate) {
  const std::size_t slash = file.path.rfind('/');
  if (!file.path.starts_with('/') || slash + 1 == file.path.size())
    return error_in_words("open " + file.path + ": it is no absolute path of a file");
  const auto folder = open_owned_folder(file.path.substr(0, std::max<std::size_t>(1, slash)));
  if (!folder) return folder.error();
  const std::string name = file.path.substr(slash + 1);
  if (rotate)
    if (auto moved = move_on(folder->get(), file, name); !moved) return moved.error();
  return open_in(folder->get(), file, name);
}

}  // namespace ioc_exporter::delivery
