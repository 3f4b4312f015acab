#include "iocs/memory/reader_forker.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string>
#include <utility>

#include "base/socket_message.h"
#include "iocs/memory/reader_child.h"
#include "iocs/memory/reader_wire.h"

namespace ioc_exporter::iocs {
namespace {

// How long a reader that was killed may take to be gone.
constexpr int kEndPatienceMs = 20;

struct Order {
  std::int32_t end = 0;  // this reader; 0: none
  std::int32_t patient = 0;
  std::int32_t fork = 0;  // with a descriptor: its socket
};
struct Report {
  std::int32_t pid = 0;
  std::int32_t error = 0;
  std::uint32_t stuck = 0;
};

void close_all_but(int kept) {
  const long most = std::min(::sysconf(_SC_OPEN_MAX), 65536L);
  for (int fd = 3; fd < most; ++fd)
    if (fd != kept) ::close(fd);
}

// The forker: only this thread, and only what is its own.
class Forker {
 public:
  explicit Forker(int socket) : socket_(socket) {}

  void serve() {
    std::string message;
    UniqueFd fd;
    while (receive_message(socket_, message, fd)) {
      const auto order = Unpacker(message).take<Order>();
      if (!order) return;
      Report report{};
      if (order->fork != 0) fork(*order, fd, report);
      if (order->end > 0) end(order->end);
      reap();
      report.stuck = static_cast<std::uint32_t>(ended_.size());
      fd.reset();
      if (!send_message(socket_, std::as_bytes(std::span(&report, 1)), {})) return;
    }
  }

 private:
  void fork(const Order& order, UniqueFd& fd, Report& report) {
    report.pid = ::fork();
    report.error = report.pid < 0 ? errno : 0;
    if (report.pid != 0) {
      if (report.pid > 0) readers_.insert(report.pid);
      return;
    }
    ::close(socket_);
    ::prctl(PR_SET_NAME, order.patient != 0 ? "ioc_exp-files" : "ioc_exp-read");
    serve_readings(fd.get(), order.patient != 0);
  }

  void end(pid_t pid) {
    if (readers_.erase(pid) == 0) return;  // no child of ours
    ::kill(pid, SIGKILL);
    ended_.insert(pid);
    for (int i = 0; i < kEndPatienceMs && ended_.contains(pid); ++i) {
      reap();
      if (ended_.contains(pid)) ::poll(nullptr, 0, 1);
    }
  }

  void reap() {
    for (pid_t pid = 0; (pid = ::waitpid(-1, nullptr, WNOHANG)) > 0;) {
      readers_.erase(pid);
      ended_.erase(pid);
    }
  }

  int socket_;
  std::set<pid_t> readers_;
  std::set<pid_t> ended_;  // killed, and not gone yet
};

[[noreturn]] void run_forker(int socket, const std::function<Result<void>()>& confine) {
  close_all_but(socket);
  ::prctl(PR_SET_NAME, "ioc_exp-fork");
  ::signal(SIGPIPE, SIG_IGN);
  const auto confined = confine ? confine() : Result<void>();
  Report ready{};
  ready.error = confined ? 0 : 1;
  const std::string why = confined ? "" : confined.error().message();
  if (send_message(socket, std::as_bytes(std::span(&ready, 1)), why) && confined)
    Forker(socket).serve();
  ::_exit(0);
}

Result<Report> ask(int socket, const Order& order, int fd) {
  std::string message;
  UniqueFd none;
  if (!send_message(socket, std::as_bytes(std::span(&order, 1)), {}, fd) ||
      !receive_message(socket, message, none))
    return error_in_words("the process that forks readers has ended");
  const auto report = Unpacker(message).take<Report>();
  if (!report) return error_in_words("the process that forks readers gave no report");
  return *report;
}

}  // namespace

Result<ReaderForker> ReaderForker::start(const std::function<Result<void>()>& confine) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return last_error("make a socket to a process that forks readers");
  UniqueFd own(ends[0]), other(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return last_error("fork a process that forks readers");
  if (pid == 0) run_forker(other.get(), confine);
  ReaderForker forker(std::move(own), pid);
  other.reset();
  std::string message;
  UniqueFd none;
  if (!receive_message(forker.socket_.get(), message, none))
    return error_in_words("the process that forks readers has ended");
  Unpacker unpacker(message);
  const auto ready = unpacker.take<Report>();
  if (!ready || ready->error != 0)
    return error_in_words("start a process that forks readers: " + std::string(unpacker.rest()));
  return forker;
}

ReaderForker::ReaderForker(ReaderForker&& other) noexcept
    : socket_(std::move(other.socket_)), pid_(std::exchange(other.pid_, -1)) {}

// It sees the end of its socket, and so does each reader.
ReaderForker::~ReaderForker() {
  if (pid_ <= 0) return;
  ::shutdown(socket_.get(), SHUT_RDWR);  // other processes of ours may have a copy of it
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

bool ReaderForker::is_gone() const {
  return is_hung_up(socket_.get());
}

Result<Reader> ReaderForker::fork(bool patient) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return last_error("make a socket to a reader");
  Reader reader{UniqueFd(ends[0]), 0};
  const UniqueFd other(ends[1]);
  Order order{};
  order.fork = 1;
  order.patient = patient ? 1 : 0;
  const std::scoped_lock lock(mutex_);
  auto report = ask(socket_.get(), order, other.get());
  if (!report) return std::move(report).error();
  if (report->pid <= 0) return error_from_errno(report->error, "fork a reader");
  reader.pid = report->pid;
  return reader;
}

Result<unsigned> ReaderForker::end(pid_t reader) {
  Order order{};
  order.end = reader;
  const std::scoped_lock lock(mutex_);
  auto report = ask(socket_.get(), order, -1);
  if (!report) return std::move(report).error();
  return report->stuck;
}

}  // namespace ioc_exporter::iocs
