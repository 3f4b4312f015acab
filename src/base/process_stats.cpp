#include "base/process_stats.h"

#include <unistd.h>

#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <string>
#include <string_view>
#include <system_error>

#include "base/ascii.h"

namespace ioc_exporter {
namespace {

struct StatNumbers {
  std::uint64_t user_ticks, system_ticks, start_ticks, virtual_bytes, resident_pages;
};

// Fields 14, 15 and 22 to 24 of proc(5); comm, the second, may hold spaces and parentheses.
std::optional<StatNumbers> parse_stat(std::string_view stat) {
  const auto comm_end = stat.rfind(')');
  if (comm_end == std::string_view::npos) return {};
  StatNumbers read{};
  const std::string fields(stat.substr(comm_end + 1));
  if (std::sscanf(fields.c_str(),
                  " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64 " %" SCNu64
                  " %*s %*s %*s %*s %*s %*s %" SCNu64 " %" SCNu64 " %" SCNu64,
                  &read.user_ticks, &read.system_ticks, &read.start_ticks, &read.virtual_bytes,
                  &read.resident_pages) != 5)
    return {};
  return read;
}

std::optional<std::uint64_t> parse_boot_time(std::string_view stat) {
  return number_after(stat, "\nbtime ");
}

// Reads a file and gives it to `parse`, with an error that names the file.
template <class Parse>
auto read_and_parse(const RootedFs& fs, std::string_view path, Parse parse)
    -> Result<typename decltype(parse(std::string_view()))::value_type> {
  auto content = fs.read(path, 1u << 20);
  if (!content) return std::move(content).error();
  auto parsed = parse(*content);
  if (!parsed) return error_in_words("read " + fs.path(path) + ": not in the form of proc(5)");
  return *parsed;
}

}  // namespace

std::optional<std::uint64_t> max_open_files(std::string_view limits) {
  if (limits.find("Max open files            unlimited") != std::string_view::npos)
    return UINT64_MAX;
  return number_after(limits, "Max open files");
}

bool has_capability(const RootedFs& fs, int capability) {
  const auto status = fs.read("/proc/self/status");
  const auto effective = status ? number_after(*status, "CapEff:", 16) : std::nullopt;
  return effective && (*effective >> capability & 1) != 0;
}

ProcessUnits ProcessUnits::of_host() {
  return {static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK)),
          static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))};
}

Result<ProcessStats> read_process_stats(const RootedFs& fs, const ProcessUnits& units) {
  auto numbers = read_and_parse(fs, "/proc/self/stat", parse_stat);
  if (!numbers) return std::move(numbers).error();
  auto max_fds = read_and_parse(fs, "/proc/self/limits", max_open_files);
  if (!max_fds) return std::move(max_fds).error();
  auto boot_time = read_and_parse(fs, "/proc/stat", parse_boot_time);
  if (!boot_time) return std::move(boot_time).error();

  const auto seconds = [&](std::uint64_t ticks) {
    return static_cast<double>(ticks) / static_cast<double>(units.ticks_per_second);
  };
  ProcessStats stats;
  stats.cpu_seconds = seconds(numbers->user_ticks + numbers->system_ticks);
  stats.boot_time_seconds = static_cast<double>(*boot_time);
  stats.start_time_seconds = stats.boot_time_seconds + seconds(numbers->start_ticks);
  stats.virtual_memory_bytes = numbers->virtual_bytes;
  stats.resident_memory_bytes = numbers->resident_pages * units.page_bytes;
  stats.max_fds = *max_fds;
  if (auto open = fs.list("/proc/self/fd")) stats.open_fds = open->size();
  return stats;
}

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

namespace {

constexpr const char* kInitial = "pid:[4026531836]";  // PROC_PID_INIT_INO, linux/proc_ns.h

}  // namespace

Result<void> in_initial_pid_namespace(const RootedFs& fs, const std::string& action) {
  const auto own = fs.read_link("/proc/self/ns/pid");
  if (!own || *own == kInitial) return {};
  return error_in_words(action + ": the exporter runs in a pid namespace of its own (" + *own +
                        "); run it in the host's (docker run --pid=host)");
}

}  // namespace ioc_exporter
