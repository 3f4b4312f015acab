#include "iocs/find/supervisor.h"

#include <algorithm>
#include <array>

#include "base/process_stats.h"
#include "iocs/find/ioc_name.h"
#include "iocs/find/process_stat.h"

namespace ioc_exporter::iocs {
namespace {

constexpr int kMostAncestors = 8;  // scripts and shells between
constexpr int kMostWrappers = 1;   // between systemd and its IOC
constexpr std::size_t kMostCgroups = 64u << 10, kMostStatusText = 4096;

// procServ.cc, 2.7: options that take a value, but for --name.
constexpr std::string_view kShortWithValue = "ceiIklLnpPx";
constexpr std::array<std::string_view, 15> kLongWithValue = {
    "autorestartcmd", "chdir",     "coresize",  "exec",    "holdoff",
    "ignore",         "info-file", "killcmd",   "killsig", "logfile",
    "logport",        "pidfile",   "logoutcmd", "timefmt", "port"};

// The parent's stat, and so on, until `is` says yes.
std::optional<ProcessStat> find_ancestor(const RootedFs& fs, pid_t pid, int most,
                                         bool (*is)(const ProcessStat&)) {
  auto stat = read_process_stat(fs, pid);
  for (int i = 0; i < most && stat && stat->parent > 0; ++i) {
    stat = read_process_stat(fs, stat->parent);
    if (stat && is(*stat)) return *stat;
  }
  return std::nullopt;
}

// A container ends with its first process, and in the session of that one is what it started;
// `docker exec` makes another session. Ids of /proc/PID/status: the host's first, then those of
// each pid namespace down to its own.
bool is_of_first_process(std::string_view status) {
  constexpr std::string_view kSession = "\nNSsid:\t";
  const auto at = status.find(kSession);
  if (at == std::string_view::npos) return false;
  status.remove_prefix(at + kSession.size());
  return status.substr(0, status.find('\n')).ends_with("\t1");
}

}  // namespace

std::optional<IocId> find_procserv(const RootedFs& fs, pid_t pid) {
  const auto found = find_ancestor(fs, pid, kMostAncestors,
                                   [](const ProcessStat& stat) { return stat.comm == "procServ"; });
  return found ? std::optional(found->id) : std::nullopt;
}

std::string procserv_name(const std::vector<std::string>& arguments) {
  const auto at = [&](std::size_t i) {
    return i < arguments.size() ? arguments[i] : std::string();
  };
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word.size() < 2 || word.front() != '-' || word == "--") break;
    if (word[1] == '-') {
      const auto equals = std::min(word.find('='), word.size());
      const std::string_view option = std::string_view(word).substr(2, equals - 2);
      if (option == "name") return equals < word.size() ? word.substr(equals + 1) : at(i + 1);
      if (equals == word.size() &&
          std::ranges::find(kLongWithValue, option) != kLongWithValue.end())
        ++i;
      continue;
    }
    const auto value = word.find_first_of(kShortWithValue, 1);
    if (value == std::string::npos) continue;
    const bool is_next = value + 1 == word.size();
    if (word[value] == 'n') return is_next ? at(i + 1) : word.substr(value + 1);
    i += is_next ? 1 : 0;
  }
  return "";
}

Supervisor find_supervisor(const RootedFs& fs, pid_t pid, pid_t thread) {
  if (const auto procserv = find_procserv(fs, pid)) return {"procServ", *procserv};
  const std::string folder = folder_of_thread(pid, thread);
  const auto cgroups = fs.read(folder + "/cgroup", kMostCgroups);
  if (!cgroups) return {};
  if (!container_id(*cgroups).empty()) {
    const auto status = fs.read(folder + "/status", kMostStatusText);
    return status && is_of_first_process(*status) ? Supervisor{"container", {}} : Supervisor{};
  }
  const std::string_view path =
      std::string_view(*cgroups).substr(0, cgroups->find_last_not_of('\n') + 1);
  const auto manager = find_ancestor(
      fs, pid, 1 + kMostWrappers, [](const ProcessStat& stat) { return stat.comm == "systemd"; });
  return manager && path.ends_with(".service") ? Supervisor{"systemd", {}} : Supervisor{};
}

}  // namespace ioc_exporter::iocs
