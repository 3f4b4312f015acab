#include "delivery/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <optional>
#include <span>
#include <utility>

#include "base/log.h"
#include "base/owned_file.h"
#include "base/socket_message.h"

namespace ioc_exporter::delivery {
namespace {

using Clock = std::chrono::steady_clock;

// How long files may take to be opened, and how long the exporter waits for that.
constexpr std::chrono::seconds kOpenPatience{4}, kStartPatience{6};
// Before it is started again: doubled each time, until one lives as long as the longest.
constexpr std::chrono::seconds kFirstPause{1}, kLongestPause{64};
constexpr std::size_t kMostWords = 64u << 10;

void tell(int socket, std::string words) {
  iovec part{words.data(), words.size()};
  (void)send_message(socket, std::span(&part, 1), -1);
}

// Nothing: the other end is closed.
std::optional<std::string> hear(int socket) {
  UniqueFd file;
  std::string words(kMostWords, '\0');
  const auto got = receive_message(socket, std::as_writable_bytes(std::span(words)), file);
  if (!got) return std::nullopt;
  words.resize(got->size);
  return words;
}

bool waits_for(short what, int fd, Clock::time_point until) {
  pollfd event{fd, what, 0};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  return ::poll(&event, 1, static_cast<int>(std::max<std::int64_t>(0, left))) > 0;
}

// Whatever of it hangs: it ends.
[[noreturn]] void run(const Process::Work& work, int socket, bool is_first) {
  int status = 1;
  try {
    ::prctl(PR_SET_NAME, "ioc_exp-deliver");
    const auto confined = work.confine();
    if (!confined && is_first) tell(socket, confined.error().message());
    if (confined) serve(work.cargo, socket, is_first);
    status = confined || is_first ? 0 : 1;
  } catch (const std::exception& failure) {
    log::error("deliver: {}", failure.what());
  }
  ::_exit(status);
}

// Its status, once it has ended. When the exporter has, it gets as long as it may take, and once
// more.
int status_of(pid_t pid, int socket) {
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  pollfd ends[] = {{process.get(), POLLIN, 0}, {socket, POLLRDHUP, 0}};
  while (::poll(ends, 2, -1) < 0 && errno == EINTR) {
  }
  if (ends[0].revents == 0 &&
      !waits_for(POLLIN, process.get(), Clock::now() + 2 * Process::kEndPatience))
    ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
  int status = 1;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

[[noreturn]] void keep(const Process::Work& work, int socket,
                       std::atomic<std::uint64_t>& restarts) {
  ::prctl(PR_SET_NAME, "ioc_exp-keep");
  if (const auto confined = work.confine_keeper(); !confined) {
    tell(socket, confined.error().message());
    ::_exit(1);
  }
  for (auto pause = kFirstPause;; ++restarts) {
    // When the exporter ends, one more process delivers the waiting events.
    const auto begun = Clock::now();
    const bool last = waits_for(POLLRDHUP, socket, begun);
    const pid_t pid = ::fork();
    if (pid == 0) run(work, socket, restarts == 0);
    const int status = pid > 0 ? status_of(pid, socket) : 1;
    if (last || (pid > 0 && status == 0)) ::_exit(0);
    if (Clock::now() - begun > kLongestPause) pause = kFirstPause;
    log::error("the process that delivers has ended{}: it is started again in {} s",
               WIFSIGNALED(status) ? " by signal " + std::to_string(WTERMSIG(status)) : "",
               pause.count());
    waits_for(POLLRDHUP, socket, Clock::now() + pause);
    pause = std::min(2 * pause, kLongestPause);
  }
}

}  // namespace

bool serve(const std::vector<Cargo*>& cargo, int socket, bool is_first) {
  std::vector<pollfd> events = {{socket, POLLIN, 0}};
  for (Cargo* const each : cargo) {
    for (const int event : each->events()) events.push_back({event, POLLIN, 0});
    each->begin();
  }
  if (is_first) {
    for (Cargo* const each : cargo)
      if (const auto opened = each->wait_until_open(Clock::now() + kOpenPatience); !opened) {
        tell(socket, opened.error().message());
        return false;
      }
    tell(socket, ".");
  }
  for (bool goes_on = true, more = false; goes_on;) {
    ::poll(events.data(), events.size(), more ? 0 : -1);
    more = false;
    for (Cargo* const each : cargo) more |= each->move_on();
    goes_on = events.front().revents == 0;
  }
  for (Cargo* const each : cargo)
    while (each->move_on()) {
    }
  const auto until = Clock::now() + Process::kEndPatience;
  for (Cargo* const each : cargo) each->end(until);
  return true;
}

Result<std::unique_ptr<Process>> Process::start(const Work& work) {
  const std::string action = "start the process that delivers";
  std::unique_ptr<Process> process(new Process);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    return last_error(action);
  process->cargo_ = work.cargo;
  process->socket_.reset(ends[0]);
  const UniqueFd its(ends[1]);
  process->keeper_ = ::fork();
  if (process->keeper_ < 0) return last_error(action);
  if (process->keeper_ == 0) {
    process->socket_.reset();  // else it would not see the exporter's end
    keep(work, its.get(), *process->restarts_);
  }
  if (!waits_for(POLLIN, process->socket_.get(), Clock::now() + kStartPatience)) {
    log::warn("{}: its files take long to be opened; the exporter goes on", action);
    return process;
  }
  const auto said = hear(process->socket_.get());
  if (said == ".") return process;
  return error_in_words(said ? *said : action + ": it has ended");
}

Process::~Process() {
  const auto until = Clock::now() + kEndPatience + std::chrono::milliseconds(500);
  for (Cargo* const each : cargo_) each->hand_over(until);
  ::shutdown(socket_.get(), SHUT_WR);
  while (waits_for(POLLIN, socket_.get(), until) && hear(socket_.get())) {
  }
  ::waitpid(keeper_, nullptr, WNOHANG);
}

Result<void> Process::kept() const {
  siginfo_t ended{};
  if (::waitid(P_PID, static_cast<id_t>(keeper_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
      ended.si_pid == 0)
    return {};
  return error_in_words("ioc_exp-keep has ended: the process that delivers is not started again");
}

Result<uid_t> owner_of(const std::vector<std::string>& folders) {
  std::optional<uid_t> owner;
  for (const std::string& path : folders) {
    const auto folder = open_owned_folder(path);
    if (!folder) return folder.error();
    struct stat status {};
    if (::fstat(folder->get(), &status) != 0) return last_error("look at " + path);
    if (owner.value_or(status.st_uid) != status.st_uid)
      return error_in_words("deliver to files: " + path + " belongs to another user than " +
                            folders.front());
    owner = status.st_uid;
  }
  if (!owner) return error_in_words("deliver to files: there are none");
  return *owner;
}

}  // namespace ioc_exporter::delivery
