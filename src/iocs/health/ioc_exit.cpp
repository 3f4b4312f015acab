#include "iocs/health/ioc_exit.h"

#include <sys/wait.h>

#include <csignal>
#include <utility>

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

}  // namespace ioc_exporter::iocs
