#include "iocs/health/exit_watch.h"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>

#include "base/log.h"
#include "base/process_stats.h"
#include "base/rooted_fs.h"
#include "base/wall_clock.h"
#include "ioc_exit.skel.h"
#include "kernel/libbpf_support.h"
#include "kernel/load_error.h"

namespace ioc_exporter::iocs {
namespace {

// sigabbrev_np(3) came with glibc 2.32 only. Those that end a process.
constexpr std::pair<int, const char*> kNames[] = {
    {SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"},     {SIGILL, "SIGILL"},
    {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},       {SIGFPE, "SIGFPE"},
    {SIGKILL, "SIGKILL"}, {SIGUSR1, "SIGUSR1"}, {SIGSEGV, "SIGSEGV"},     {SIGUSR2, "SIGUSR2"},
    {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"},     {SIGXCPU, "SIGXCPU"},
    {SIGXFSZ, "SIGXFSZ"}, {SIGSYS, "SIGSYS"},   {SIGVTALRM, "SIGVTALRM"}, {SIGPROF, "SIGPROF"},
    {SIGIO, "SIGIO"}};

std::string signal_name(int signal) {
  for (const auto& [number, name] : kNames)
    if (number == signal) return name;
  return "signal " + std::to_string(signal);
}

}  // namespace

IocExit exit_of_status(std::int32_t wait_status) {
  if (WIFSIGNALED(wait_status))
    return {WCOREDUMP(wait_status) ? "core_dump" : "signal", "",
            signal_name(WTERMSIG(wait_status))};
  return {"exit", std::to_string(WEXITSTATUS(wait_status)), ""};
}

std::string in_words(const IocExit& exit) {
  if (exit.reason == "exit") return "exit status " + exit.status;
  return exit.signal + (exit.reason == "core_dump" ? ", a core was dumped" : "");
}

namespace {

static_assert(sizeof(iocx_ioc_exit) == 64);
static_assert(sizeof(CpuByClass) == sizeof(iocx_ioc_exit::cpu_ns));

struct SkeletonDeleter {
  void operator()(ioc_exit_bpf* skeleton) const { ioc_exit_bpf__destroy(skeleton); }
};

}  // namespace

struct ExitObject::Loaded {
  std::unique_ptr<ioc_exit_bpf, SkeletonDeleter> skeleton;
  kernel::MapView<std::uint32_t, iocx_ioc_exit> exits;
};

ExitObject::ExitObject(std::unique_ptr<Loaded> loaded) : loaded_(std::move(loaded)) {}
ExitObject::ExitObject(ExitObject&&) noexcept = default;
ExitObject& ExitObject::operator=(ExitObject&&) noexcept = default;
ExitObject::~ExitObject() = default;

Result<ExitObject> ExitObject::load() {
  kernel::capture_libbpf_messages();
  auto loaded = std::make_unique<Loaded>();
  loaded->skeleton.reset(ioc_exit_bpf__open());
  if (!loaded->skeleton) return kernel::libbpf_error(-errno, "open BPF object ioc_exit");
  if (const int err = ioc_exit_bpf__load(loaded->skeleton.get()); err < 0)
    return kernel::libbpf_error(err, "load BPF object ioc_exit");
  if (const int err = ioc_exit_bpf__attach(loaded->skeleton.get()); err < 0)
    return kernel::libbpf_error(err, "attach to the tracepoint of exits");
  if (auto ok = kernel::open_view(loaded->exits, loaded->skeleton->maps.ioc_exits); !ok)
    return ok.error();
  return ExitObject(std::move(loaded));
}

const kernel::MapView<std::uint32_t, iocx_ioc_exit>& ExitObject::exits() const {
  return loaded_->exits;
}

std::optional<kernel::ProgramStats> ExitObject::stats() const {
  return kernel::program_stats(loaded_->skeleton->progs.process_exit);
}

ExitWatch::ExitWatch() {
  is_possible_ = kernel::has_btf();
  if (!is_possible_) {
    log::info("ends of IOCs are not seen: this kernel has no BTF (/sys/kernel/btf/vmlinux)");
    return;
  }
  if (auto initial = in_initial_pid_namespace(RootedFs(), "see how IOCs end"); !initial) {
    problem_ = initial.error().message();
    return;
  }
  auto object = ExitObject::load();
  if (object)
    object_ = std::move(*object);
  else
    problem_ = kernel::explain_load_error(object.error());
}

std::vector<ExitWatch::Ended> ExitWatch::follow(const Live& live, Clock::time_point now) {
  std::vector<Ended> ended;
  if (!object_) return ended;
  const auto pid_of = [](const IocId& id) { return static_cast<std::uint32_t>(id.pid); };
  for (const auto& [id, ioc] : live_)
    if (!live.contains(id)) gone_.insert_or_assign(id, Gone{ioc, now + kPatience});
  for (auto gone = gone_.begin(); gone != gone_.end();) {
    const auto exit = object_->exits().lookup(pid_of(gone->first));
    const bool has_ended = exit && *exit && (*exit)->ended != 0;
    if (has_ended)
      ended.push_back(
          {gone->second.ioc.name, gone->second.ioc.user, exit_of_status((*exit)->status)});
    // Also one that runs on, and is not followed any more.
    if (!has_ended && now < gone->second.until) {
      ++gone;
      continue;
    }
    (void)object_->exits().erase(pid_of(gone->first));
    gone = gone_.erase(gone);
  }
  for (const auto& [id, ioc] : live) {
    if (live_.contains(id)) continue;
    // Its pid may have been another process', whose end will not be reported any more.
    std::erase_if(gone_, [pid = id.pid](const auto& gone) { return gone.first.pid == pid; });
    if (auto noted = object_->exits().update(pid_of(id), {}); !noted)
      log::debug("{}", noted.error().message());
  }
  live_ = live;
  return ended;
}

std::optional<CpuByClass> ExitWatch::exited_cpu(const IocId& id) const {
  if (!object_) return std::nullopt;
  const auto exit = object_->exits().lookup(static_cast<std::uint32_t>(id.pid));
  if (!exit || !*exit) return std::nullopt;
  CpuByClass cpu;
  std::ranges::copy((*exit)->cpu_ns, cpu.begin());
  return cpu;
}

std::optional<ProbeSample> ExitWatch::sample() const {
  if (!is_possible_) return std::nullopt;
  ProbeSample sample;
  sample.probe = kProbe;
  sample.loaded = object_.has_value();
  sample.attachments = object_ ? 1 : 0;
  if (const auto stats = object_ ? object_->stats() : std::nullopt) {
    sample.runs = stats->runs;
    sample.run_time_ns = stats->run_time_ns;
  }
  return sample;
}

}  // namespace ioc_exporter::iocs
