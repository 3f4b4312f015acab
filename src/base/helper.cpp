#include "base/helper.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/socket_message.h"

namespace ioc_exporter {
namespace {

constexpr std::chrono::seconds kStartPatience{30};
constexpr std::uint32_t kOpenChannel = ~0u;  // HelperRequest::what
constexpr std::size_t kMostChannels = 4;

struct Answer {
  std::uint32_t sequence = 0;
  std::int32_t error = 0;  // an errno, or 0
  char words[248] = "";    // "": it has been done
};

bool send_one(int socket, const void* data, std::size_t size, int file) {
  iovec part{const_cast<void*>(data), size};
  return send_message(socket, std::span(&part, 1), file) == size;
}

// Nothing: the other end is gone, or it sent what is no message of ours.
template <class Message>
std::optional<ReceivedMessage> receive_one(int socket, Message& into, UniqueFd& file) {
  const auto got = receive_message(socket, std::as_writable_bytes(std::span(&into, 1)), file);
  return got && got->size == sizeof into ? got : std::nullopt;
}

Answer refusal(const Error& error) {
  Answer answer;
  answer.error = error.code ? error.code.value() : 0;
  const std::size_t length = std::min(error.context.size(), sizeof answer.words - 1);
  std::memcpy(answer.words, error.context.data(), length);
  if (length == 0) answer.words[0] = '?';
  return answer;
}

bool answer(int socket, const HelperRequest& request, const Result<UniqueFd>& done) {
  Answer answer = done ? Answer{} : refusal(done.error());
  answer.sequence = request.sequence;
  return send_one(socket, &answer, sizeof answer, done ? done->get() : -1);
}

// Serves requests until the first channel is closed.
class Server {
 public:
  Server(const Helper::Work& work, int socket) : work_(work), first_(socket) {
    channels_.push_back({socket, POLLIN, 0});
  }

  void run() {
    while (true) {
      const int ready = ::poll(channels_.data(), channels_.size(), -1);
      if (ready < 0 && errno == EINTR) continue;
      if (ready < 0) return;
      for (std::size_t i = 0; i < channels_.size(); ++i) {
        if (channels_[i].revents == 0 || serve_one(channels_[i].fd)) continue;
        if (channels_[i].fd == first_) return;
        ::close(std::exchange(channels_[i].fd, -1));  // poll(2) leaves it out
      }
    }
  }

 private:
  bool serve_one(int socket) {
    UniqueFd file;
    HelperRequest request;
    if (!receive_one(socket, request, file)) return false;
    if (request.what == kOpenChannel) {
      if (channels_.size() >= kMostChannels)
        return answer(socket, request, error_in_words("there are enough channels"));
      channels_.push_back({file.release(), POLLIN, 0});
      return answer(socket, request, UniqueFd());
    }
    const bool in_child = work_.may_hang && work_.may_hang(request);
    const pid_t own = ::getpid();
    const pid_t child = in_child ? ::fork() : 0;
    if (child < 0) return answer(socket, request, last_error("fork a child for a request"));
    if (child > 0) return true;
    const auto ready = in_child ? end_with_parent(own) : Result<void>();
    const bool answered =
        answer(socket, request, ready ? work_.serve(request, file) : ready.error());
    if (in_child) ::_exit(0);
    return answered;
  }

  const Helper::Work& work_;
  int first_;
  std::vector<pollfd> channels_;
};

[[noreturn]] void run(const Helper::Work& work, int socket, pid_t parent) {
  int status = 1;
  try {
    ::prctl(PR_SET_NAME, work.name.c_str());
    ::signal(SIGCHLD, SIG_IGN);  // no child stays a zombie, and none is waited for
    // First of all it says whether it is confined: as the answer to the request 0.
    const Result<void> ends = end_with_parent(parent);
    const Result<void> confined = ends ? work.confine() : ends.error();
    const Answer answer = confined ? Answer{} : refusal(confined.error());
    if (send_one(socket, &answer, sizeof answer, -1) && confined) {
      Server(work, socket).run();
      status = 0;
    }
  } catch (const std::exception&) {
  }
  ::_exit(status);  // without the destructors of the parent's objects
}

}  // namespace

Result<void> end_with_parent(pid_t parent) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
    return last_error("end with the process that forked this one");
  // It may have ended before.
  return ::getppid() == parent ? Result<void>()
                               : error_in_words("the process that forked this one has ended");
}

Result<std::shared_ptr<Helper>> Helper::start(Work work) {
  const std::string action = "start the helper process " + work.name;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return last_error(action);
  UniqueFd own(ends[0]), its(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return last_error(action);
  if (pid == 0) {
    own.reset();  // else it would keep itself alive
    run(work, its.get(), parent);
  }
  its.reset();
  std::shared_ptr<Helper> helper(new Helper(work.name, pid, std::move(own)));
  auto ready = helper->receive(0, kStartPatience);
  if (!ready) return Error{ready.error().code, action + ": " + ready.error().context};
  return helper;
}

Result<std::shared_ptr<Helper>> Helper::open_channel() {
  const std::string action = "open another channel to the helper process " + name_;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return last_error(action);
  UniqueFd own(ends[0]);
  const UniqueFd its(ends[1]);
  if (auto opened = ask({.what = kOpenChannel}, its.get()); !opened) return opened.error();
  return std::shared_ptr<Helper>(new Helper(name_, pid_, std::move(own)));
}

Helper::~Helper() {
  socket_.reset();  // it ends when it sees that, and nobody waits for one that hangs
  ::waitpid(pid_, nullptr, WNOHANG);
}

// A child of it that hangs still has its sockets.
bool Helper::is_gone() const {
  siginfo_t ended{};
  return ::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         ended.si_pid != 0;
}

Result<UniqueFd> Helper::receive(std::uint32_t sequence, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd events{socket_.get(), POLLIN, 0};
    const int ready = ::poll(&events, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0)
      return error_from_errno(ETIMEDOUT, "the helper process " + name_ + " does not answer");
    UniqueFd file;
    Answer answer;
    const auto got = receive_one(socket_.get(), answer, file);
    if (!got) return error_from_errno(EPIPE, "the helper process " + name_ + " has ended");
    if (answer.sequence == owed_) owed_ = 0;
    if (answer.sequence != sequence) continue;
    if (answer.words[0] == '\0') {
      if (auto room = check_room(*got, file); !room) return room.error();
      return file;
    }
    std::string words(answer.words, ::strnlen(answer.words, sizeof answer.words));
    if (answer.error == 0) return error_in_words(std::move(words));
    return error_from_errno(answer.error, std::move(words));
  }
}

Result<UniqueFd> Helper::ask(HelperRequest request, int file, std::chrono::milliseconds patience) {
  const std::scoped_lock lock(mutex_);
  if (owed_ != 0)  // has it come meanwhile?
    if (auto late = receive(owed_, std::chrono::milliseconds(0)); !late && owed_ != 0)
      return std::move(late).error();
  if (++last_sequence_ == 0) ++last_sequence_;
  request.sequence = last_sequence_;
  if (!send_one(socket_.get(), &request, sizeof request, file))
    return last_error("ask the helper process " + name_);
  auto answer = receive(request.sequence, patience);
  if (!answer && answer.error().code == std::errc::timed_out) owed_ = request.sequence;
  return answer;
}

void Helper::close_late_answer() {
  const std::unique_lock lock(mutex_, std::try_to_lock);  // else somebody asks now, who does it
  if (lock && owed_ != 0) static_cast<void>(receive(owed_, std::chrono::milliseconds(0)));
}

}  // namespace ioc_exporter
