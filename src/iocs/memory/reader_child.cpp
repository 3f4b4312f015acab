#include "iocs/memory/reader_wire.h"

#include <linux/magic.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <memory>

#include "base/ascii.h"
#include "base/packer.h"
#include "base/process_stats.h"
#include "iocs/memory/process_reader.h"
#include "iocs/memory/reader_wire.h"

namespace ioc_exporter::iocs {
namespace {

constexpr int kPriority = 5;  // the IOCs are first

// A FUSE file system answers when its owner likes, and to close one of its files waits for it, too.
// That of root (user_id=0) is the site's own (CernVM-FS); all others are refused.
bool belongs_to_a_user(const RootedFs& fs, pid_t pid, int fd) {
  struct statfs kind {};
  if (::fstatfs(fd, &kind) != 0 || kind.f_type != FUSE_SUPER_MAGIC) return false;
  const auto info = fs.read("/proc/self/fdinfo/" + std::to_string(fd), 4096);
  const auto mounts = through_thread(
      fs, pid, [&](pid_t thread) { return fs.read(folder_of_thread(pid, thread) + "/mountinfo"); });
  const auto id = info ? number_after(*info, "mnt_id:\t") : std::nullopt;
  if (!id || !mounts) return true;
  const std::string start = "\n" + std::to_string(*id) + " ";
  const std::string text = "\n" + *mounts;
  const auto line = text.find(start);
  if (line == std::string::npos) return true;
  const std::string_view mount = std::string_view(text).substr(line + 1);
  return number_after(mount.substr(0, mount.find('\n')), "user_id=") != 0u;
}

class ReaderProcess {
 public:
  explicit ReaderProcess(int socket) : socket_(socket) {}

  // `ready`: an error is what it answers.
  void serve(const Result<void>& ready) {
    std::string message;
    UniqueFd fd;
    while (receive_message(socket_, message, fd)) {
      Unpacker unpacker(message);
      const auto request = unpacker.take<ReaderRequest>();
      if (!request) return;
      if (!(ready ? answer(*request, unpacker.remainder(), fd.get()) : fail(ready.error()))) return;
      fd.reset();
    }
  }

 private:
  bool say(std::string_view payload, bool more = false, int fd = -1) {
    const ReaderAnswer answer{1, 0, more ? 1u : 0u, 0};
    return send_message(socket_, answer, payload, fd);
  }
  bool fail(const Error& error) {
    ReaderAnswer answer{};
    answer.error = static_cast<std::uint32_t>(error.code.value());
    return send_message(socket_, answer, std::string_view(error.context).substr(0, kMostInPiece));
  }
  bool say_all(std::string_view bytes) {
    while (bytes.size() > kMostInPiece) {
      if (!say(bytes.substr(0, kMostInPiece), true)) return false;
      bytes.remove_prefix(kMostInPiece);
    }
    return say(bytes);
  }

  bool answer(const ReaderRequest& request, std::string_view payload, int fd) {
    const std::string path(payload);
    switch (request.op) {
      case ReaderOp::open_memory:
        return open_memory(payload);
      case ReaderOp::read_memory:
        return read_memory(request);
      case ReaderOp::gather:
        return gather(request, payload);
      case ReaderOp::text: {
        const auto text = direct_.text(0, path, request.a);
        return text ? say_all(*text) : fail(text.error());
      }
      case ReaderOp::statuses:
        return statuses(payload);
      case ReaderOp::open:
        return open(static_cast<pid_t>(request.a), path);
      case ReaderOp::symbols: {
        const auto symbols = direct_.symbols(0, fd, path);
        return symbols ? say_all(symbols->packed()) : fail(symbols.error());
      }
      case ReaderOp::base_version: {
        std::vector<elf::LoadSegment> segments(payload.size() / sizeof(elf::LoadSegment));
        std::memcpy(segments.data(), payload.data(), segments.size() * sizeof(elf::LoadSegment));
        const auto version = direct_.base_version(0, fd, segments);
        return version ? say(*version) : fail(version.error());
      }
      case ReaderOp::functions: {
        const auto found = direct_.functions(0, fd, "it", elf::unpacked_wishes(payload));
        return found ? say_all(elf::packed(*found)) : fail(found.error());
      }
    }
    return false;
  }

  bool open_memory(std::string_view payload) {
    memory_.reset();
    const auto id = Unpacker(payload).take<IocId>();
    if (!id) return false;
    auto memory = direct_.memory(*id);
    if (!memory) return fail(memory.error());
    memory_ = std::move(*memory);
    return say({});
  }

  bool read_memory(const ReaderRequest& request) {
    bytes_.resize(std::min<std::size_t>(request.b, kMostInPiece));
    if (!memory_) return fail(error_in_words("no memory is open"));
    const auto got = memory_->read_some(
        request.a, std::as_writable_bytes(std::span(bytes_.data(), bytes_.size())));
    return got ? say(std::string_view(bytes_).substr(0, *got)) : fail(got.error());
  }

  bool gather(const ReaderRequest& request, std::string_view payload) {
    std::vector<std::uint64_t> addresses(payload.size() / sizeof(std::uint64_t));
    std::memcpy(addresses.data(), payload.data(), addresses.size() * sizeof(std::uint64_t));
    if (!memory_ || request.a * addresses.size() > kMostInPiece)
      return fail(error_in_words("no memory is open"));
    bytes_.resize(request.a * addresses.size());
    const auto got = memory_->gather(
        addresses, request.a, std::as_writable_bytes(std::span(bytes_.data(), bytes_.size())));
    return got ? say(std::string_view(bytes_).substr(0, *got * request.a)) : fail(got.error());
  }

  bool statuses(std::string_view payload) {
    std::vector<std::string> paths;
    for (std::size_t end = 0; (end = payload.find('\0')) != std::string_view::npos;
         payload.remove_prefix(end + 1))
      paths.emplace_back(payload.substr(0, end));
    const auto found = direct_.statuses(0, paths);
    if (!found) return fail(found.error());
    Packer packer;
    for (const FileStatus& status : *found) packer.add(status);
    return say_all(packer.bytes());
  }

  bool open(pid_t pid, const std::string& path) {
    auto fd = direct_.open(pid, path);
    if (!fd) return fail(fd.error());
    if (belongs_to_a_user(fs_, pid, fd->get()))
      return fail(error_in_words("open " + path + ": it is on a user's own file system (FUSE)"));
    return say({}, false, fd->get());
  }

  int socket_;
  RootedFs fs_;
  ProcessReader direct_{fs_};
  std::unique_ptr<Memory> memory_;
  std::string bytes_;
};

// A reader of foreign data has no other descriptor.
void close_all_but(int kept) {
  const auto fd = static_cast<unsigned>(kept);
  if (fd > 3) ::syscall(SYS_close_range, 3u, fd - 1, 0);
  ::syscall(SYS_close_range, fd + 1, ~0u, 0);
}

Result<void> prepare(pid_t parent, const std::function<Result<void>()>& confine) {
  if (auto ends = end_with_parent(parent); !ends) return ends;
  if (::setpriority(PRIO_PROCESS, 0, kPriority) != 0)
    return last_error("lower a reader's priority");
  return confine ? confine() : Result<void>();
}

[[noreturn]] void run_reader(int socket, pid_t parent,
                             const std::function<Result<void>()>& confine) {
  try {
    close_all_but(socket);
    ::prctl(PR_SET_NAME, "ioc_exp-read");
    ReaderProcess(socket).serve(prepare(parent, confine));
  } catch (const std::exception&) {
  }
  ::_exit(0);
}

}  // namespace

Result<UniqueFd> serve_reader_request(const HelperRequest& request, const UniqueFd& file,
                                      const std::function<Result<void>()>& confine) {
  if (!file) return error_in_words("readers: a request without a descriptor");
  if (request.what == static_cast<std::uint32_t>(ReaderProcessRequest::kill)) {
    // A process of another user does not get it.
    if (::syscall(SYS_pidfd_send_signal, file.get(), SIGKILL, nullptr, 0) != 0)
      return last_error("kill a reader");
    return UniqueFd();
  }
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return last_error("fork a reader");
  if (pid == 0) run_reader(file.get(), parent, confine);
  UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process) return last_error("fork a reader");
  return process;
}

}  // namespace ioc_exporter::iocs
