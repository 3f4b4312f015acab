#include "base/live_thread.h"

#include <charconv>
#include <system_error>

namespace ioc_exporter {
namespace {

constexpr std::size_t kMostThreads = 4096;

// Whether it still has the process' memory, which it gives back before its end.
bool lives(const RootedFs& fs, const std::string& folder) {
  const auto executable = fs.read_link(folder + "/exe");
  return executable || (executable.error().code != std::errc::no_such_file_or_directory &&
                        executable.error().code != std::errc::no_such_process);
}

}  // namespace

// The kernel lists them from the eldest on: threads of clients come and go, the first ones stay.
std::optional<pid_t> find_live_thread(const RootedFs& fs, pid_t pid) {
  const auto names = fs.list(folder_of_thread(pid, pid) + "/task", kMostThreads);
  if (!names) return {};
  for (const std::string& name : *names) {
    pid_t thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    if (thread > 0 && thread != pid && lives(fs, folder_of_thread(pid, thread))) return thread;
  }
  return {};
}

std::string folder_of_thread(pid_t pid, pid_t thread) {
  std::string folder = "/proc/" + std::to_string(pid);
  if (thread != pid) (folder += "/task/") += std::to_string(thread);
  return folder;
}

}  // namespace ioc_exporter
