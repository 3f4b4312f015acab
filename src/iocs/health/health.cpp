#include "iocs/health/health.h"

#include <sys/stat.h>

#include <cstdio>
#include <numeric>

#include "shared/ioc_exit.h"

namespace ioc_exporter::iocs {
namespace {

static_assert(kThreadClasses == IOCX_THREAD_CLASSES);
static_assert(static_cast<int>(ThreadClass::scan) == IOCX_THREAD_SCAN &&
              static_cast<int>(ThreadClass::ca) == IOCX_THREAD_CA &&
              static_cast<int>(ThreadClass::main) == IOCX_THREAD_MAIN);

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
// A thread gets its name shortly after it was made: it is read at the first readings, and seldom
// later.
constexpr std::uint32_t kReadingsAtNewName = 4, kReadingsBetweenNames = 16;

// Takes a decimal number off the front.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return {};
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return value;
}

// Listed, although since Linux 6.2 the folder's size says it too: that counts also the number that
// a thread has reserved which waits in accept(2), as the CA server's does. Of very many, the size
// is good enough; older kernels say 0.
std::optional<std::uint64_t> count_descriptors(const RootedFs& fs, const std::string& process) {
  const auto names = fs.list(process + "/fd", IocHealth::kMostListed);
  if (!names) return {};
  struct stat status;
  const bool many = names->size() == IocHealth::kMostListed;
  if (!many || ::stat(fs.path(process + "/fd").c_str(), &status) != 0) return names->size();
  return std::max<std::uint64_t>(names->size(), static_cast<std::uint64_t>(status.st_size));
}

}  // namespace

IocHealth::IocHealth(RootedFs fs, ProcessUnits units) : fs_(std::move(fs)), units_(units) {}

std::optional<HealthSample> IocHealth::read(const IocId& id, Clock::time_point now,
                                            const Exited& exited) {
  const auto exited_before = exited ? exited() : std::nullopt;
  // Before its threads: what they use meanwhile must not be taken for that of ended ones.
  auto stat = read_process_stat(fs_, id.pid);
  auto threads = Folder::open(fs_, folder_of_thread(id.pid, id.pid) + "/task");
  if (!stat || !threads || stat->id != id || !choose_thread(fs_, *stat)) return {};
  const std::string folder = folder_of_thread(id.pid, stat->thread);

  Process& process = processes_[id];
  read_threads(*threads, *stat, process, now);
  const std::uint64_t total_ns = stat->cpu_ticks * (kNsPerSecond / units_.ticks_per_second);
  // One that ended meanwhile may be among both, or neither: the next reading will show.
  if (exited_before == (exited ? exited() : std::nullopt)) {
    if (exited_before) add_exited(*exited_before, process);
    const std::uint64_t known_ns =
        std::accumulate(process.cpu_ns.begin(), process.cpu_ns.end(), std::uint64_t{0});
    if (total_ns > known_ns) process.ended_ns = std::max(process.ended_ns, total_ns - known_ns);
    process.total_known = true;
    if (std::exchange(process.ended_begins_anew, false)) process.ended_before_ns = process.ended_ns;
  }

  HealthSample sample;
  sample.process_cpu_ns = total_ns;
  for (std::size_t i = 0; i < kThreadClasses; ++i)
    sample.cpu_ns[i] = process.cpu_ns[i] - process.before_ns[i];
  sample.ended_cpu_ns = process.ended_ns - process.ended_before_ns;
  for (const auto& [tid, thread] : process.threads) {
    ++sample.threads[static_cast<std::size_t>(thread.thread_class)];
    sample.spinning += thread.spinning ? 1 : 0;
  }
  sample.resident_bytes = stat->resident_pages * units_.page_bytes;
  sample.open_fds = count_descriptors(fs_, folder);
  const auto limits = fs_.read(folder + "/limits", 8192);
  if (limits) sample.max_fds = max_open_files(*limits);
  return sample;
}

void IocHealth::begin_anew(const IocId& id) {
  Process& process = processes_[id];
  process.before_ns = process.cpu_ns;
  process.ended_before_ns = process.ended_ns;
  process.ended_begins_anew = !process.total_known;
}

void IocHealth::add_exited(const CpuByClass& exited, Process& process) {
  CpuByClass all = exited;
  for (const auto& [tid, thread] : process.threads)
    all[static_cast<std::size_t>(thread.thread_class)] += thread.run_ns;
  for (std::size_t i = 0; i < kThreadClasses; ++i) {
    const auto now = static_cast<std::int64_t>(all[i]) - process.moved_ns[i];
    if (now > 0) process.cpu_ns[i] = std::max(process.cpu_ns[i], static_cast<std::uint64_t>(now));
  }
}

// A thread's time goes to the class that it has now: one that got its name late does not take away
// from the class that it had before.
void IocHealth::read_threads(const Folder& folder, const ProcessStat& stat, Process& process,
                             Clock::time_point now) {
  const int pid = stat.id.pid;
  using std::chrono::nanoseconds;
  const auto elapsed = process.measured_from ? now - *process.measured_from : nanoseconds(0);
  const bool measure = !process.measured_from || elapsed >= kSpinInterval;
  const auto spin_ns = static_cast<std::uint64_t>(
      kSpinShare * static_cast<double>(std::max(nanoseconds(elapsed), nanoseconds(0)).count()));
  ++process.round;
  for (const int tid : folder.numbers()) {
    if (tid == pid && stat.main_thread_ended()) continue;  // it stays there as a zombie
    const auto times = times_of(folder, std::to_string(tid).c_str());
    if (!times) continue;  // it has ended
    Thread& thread = process.threads[tid];
    if (times->run_ns < thread.run_ns) thread = Thread{};  // another one got its number
    if (tid == pid) {
      thread.thread_class = ThreadClass::main;
    } else if (thread.readings < kReadingsAtNewName ||
               thread.readings % kReadingsBetweenNames == 0) {
      char comm[32];
      if (auto name = folder.read((std::to_string(tid) + "/comm").c_str(), comm)) {
        const auto before = static_cast<std::size_t>(thread.thread_class);
        thread.thread_class = thread_class_of(name->substr(0, name->find('\n')));
        const auto used = static_cast<std::int64_t>(thread.run_ns);
        process.moved_ns[before] -= used;
        process.moved_ns[static_cast<std::size_t>(thread.thread_class)] += used;
      }
    }
    process.cpu_ns[static_cast<std::size_t>(thread.thread_class)] += times->run_ns - thread.run_ns;
    thread.run_ns = times->run_ns;
    if (measure) {
      const std::uint64_t busy_ns = times->run_ns + times->wait_ns;
      thread.spinning =
          elapsed > nanoseconds(0) && thread.measured && busy_ns - thread.busy_ns_before >= spin_ns;
      thread.busy_ns_before = busy_ns;
      thread.measured = true;
    }
    ++thread.readings;
    thread.round = process.round;
  }
  if (measure) process.measured_from = now;
  std::erase_if(process.threads,
                [&](const auto& entry) { return entry.second.round != process.round; });
}

// schedstat counts nanoseconds; a kernel without it (CONFIG_SCHED_INFO) has ticks in stat, and says
// nothing about waiting.
std::optional<IocHealth::Times> IocHealth::times_of(const Folder& threads, const char* tid) const {
  char buffer[1024];
  if (auto text = threads.read((std::string(tid) + "/schedstat").c_str(), buffer)) {
    const auto run = take_number(*text);
    const auto wait = take_number(*text);
    if (run && wait) return Times{*run, *wait};
  }
  const auto text = threads.read((std::string(tid) + "/stat").c_str(), buffer);
  const auto stat = text ? parse_process_stat(*text) : std::nullopt;
  if (!stat) return {};
  return Times{stat->cpu_ticks * (kNsPerSecond / units_.ticks_per_second), 0};
}

ThreadClass thread_class_of(std::string_view comm) {
  char padded[IOCX_COMM_SIZE] = {};
  comm.copy(padded, sizeof padded);
  return static_cast<ThreadClass>(iocx_thread_class_of(padded));
}

}  // namespace ioc_exporter::iocs
