#include "iocs/reader_pool.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "iocs/process_stat.h"
#include "iocs/process_user.h"

namespace ioc_exporter::iocs {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMostIdle = 4;  // readers of a kind
constexpr milliseconds kGlance{20};
// Of each reading: more than it takes of an ordinary process or library, or than a piece of memory.
constexpr milliseconds kFree{5};
// A reader that runs all this time, or waits for a CPU, is given up as well.
constexpr std::chrono::seconds kLongest{30};

std::string_view bytes_of(const IocId& id) {
  return {reinterpret_cast<const char*>(&id), sizeof id};
}

// One that has ended costs nobody anything.
uid_t payer_of(const RootedFs& fs, pid_t pid) {
  return user_of(fs, pid).value_or(kNoUser);
}

// It computes, or would if it had a CPU: so it does not hang.
bool is_runnable(const RootedFs& fs, pid_t reader) {
  const auto stat = read_process_stat(fs, reader);
  return stat && stat->state == 'R';
}

// False: not in time.
bool wait_for_answer(const RootedFs& fs, const Reader& reader, milliseconds patience,
                     const std::atomic<bool>& stopped) {
  pollfd answer{reader.socket.get(), POLLIN, 0};
  milliseconds slept{0};
  for (milliseconds waited{0}; waited < kLongest && !stopped; waited += kGlance) {
    if (::poll(&answer, 1, static_cast<int>(kGlance.count())) > 0) return true;
    if (!is_runnable(fs, reader.pid)) slept += kGlance;
    if (slept >= patience) return false;
  }
  return false;
}

std::string milliseconds_text(std::chrono::milliseconds time) {
  std::string text = std::to_string(time.count());
  return text + " ms";
}

}  // namespace

// What a process has in its memory, by a reader that holds it open.
class ReaderPool::RemoteMemory : public Memory {
 public:
  RemoteMemory(ReaderPool& pool, Reader reader, const Owner& owner)
      : pool_(pool), reader_(std::move(reader)), owner_(owner) {}
  ~RemoteMemory() override { pool_.give_back(Kind::memory, std::move(reader_)); }

  Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> into) override {
    if (into.empty()) return std::size_t{0};
    const ReaderRequest request{ReaderOp::read_memory, 0, address, into.size()};
    auto asked = pool_.ask(reader_, kMemoryPatience, owner_, request, {}, -1, what(address));
    if (!asked) return std::move(asked).error();
    return take(asked->bytes, into);
  }

  Result<std::size_t> gather(std::span<const std::uint64_t> addresses, std::size_t size,
                             std::span<std::byte> into) override {
    if (addresses.empty() || size == 0) return std::size_t{0};
    const std::size_t most =
        std::min({addresses.size(), kMostInPiece / size, kMostInPiece / sizeof(std::uint64_t)});
    if (most == 0) return Memory::gather(addresses, size, into);
    addresses = addresses.first(most);
    const ReaderRequest request{ReaderOp::gather, 0, size, 0};
    auto asked =
        pool_.ask(reader_, kMemoryPatience, owner_, request,
                  {reinterpret_cast<const char*>(addresses.data()), addresses.size_bytes()}, -1,
                  what(addresses[0]));
    if (!asked) return std::move(asked).error();
    return take(asked->bytes, into.first(most * size)) / size;
  }

 private:
  std::string what(std::uint64_t address) const {
    return "read memory at " + hex_address(address) + " (pid " + std::to_string(owner_.pid) + ")";
  }
  static std::size_t take(const std::string& bytes, std::span<std::byte> into) {
    const std::size_t size = std::min(bytes.size(), into.size());
    std::memcpy(into.data(), bytes.data(), size);
    return size;
  }

  ReaderPool& pool_;
  Reader reader_;
  Owner owner_;
};

ReaderPool::ReaderPool(RootedFs fs, ReaderForker forker)
    : ProcessReader(std::move(fs)), forker_(std::move(forker)) {}

ReaderPool::~ReaderPool() = default;

Result<Reader> ReaderPool::take(Kind kind) {
  {
    const std::scoped_lock lock(mutex_);
    auto& idle = idle_[kind];
    if (!idle.empty()) {
      Reader reader = std::move(idle.back());
      idle.pop_back();
      return reader;
    }
  }
  return forker_.fork(kind == Kind::files);
}

void ReaderPool::give_back(Kind kind, Reader reader) {
  if (!reader.socket) return;
  {
    const std::scoped_lock lock(mutex_);
    auto& idle = idle_[kind];
    if (idle.size() < kMostIdle) {
      idle.push_back(std::move(reader));
      return;
    }
  }
  reader.socket.reset();  // it ends by itself; the forker reaps it with the next order
}

Result<ReaderPool::Owner> ReaderPool::may_read(pid_t pid, const std::string& what) {
  if (stopped_) return error_from_errno(ETIME, what + ": the exporter ends");
  const uid_t user = payer_of(fs(), pid);
  const std::scoped_lock lock(mutex_);
  switch (budget_.judge(pid, user, Clock::now())) {
    case ReaderBudget::Verdict::go:
      return Owner{pid, user};
    case ReaderBudget::Verdict::resting:
      return error_from_errno(ETIME, what + ": left alone for a while, it did not answer");
    case ReaderBudget::Verdict::stuck:
      return error_from_errno(ETIME, what + ": readings of this user's processes never end");
    case ReaderBudget::Verdict::overdrawn:
      break;
  }
  ++use_.put_off;
  say_put_off(user);
  return error_from_errno(EAGAIN, what + ": this user's processes take too long to look into");
}

// Under the mutex. Now and then, and for one user at a time: there may be many.
void ReaderPool::say_put_off(uid_t user) {
  if (!put_off_lines_.allows(Clock::now())) return;
  log::warn(
      "processes of user {} take too long to look into: they wait, and IOCs among them are "
      "found late",
      user == kNoUser ? "(unknown)" : std::to_string(user));
}

// What an ordinary process takes is free: a site's many IOCs may all be one user's. Time for which
// a reader waits for a CPU counts, since others wait as well.
void ReaderPool::charge(const Owner& owner, std::chrono::nanoseconds time) {
  if (time <= kFree) return;
  const std::scoped_lock lock(mutex_);
  budget_.charge(owner.user, time - kFree, Clock::now());
}

Error ReaderPool::give_up(Reader& reader, const Owner& owner, const std::string& what) {
  unsigned before = 0;
  {
    const std::scoped_lock lock(mutex_);
    before = static_cast<unsigned>(use_.stuck);
  }
  const auto stuck = forker_.end(reader.pid);
  reader.socket.reset();
  const std::scoped_lock lock(mutex_);
  ++use_.given_up;
  use_.stuck = stuck ? *stuck : before;
  budget_.note_hang(owner.pid, owner.user, use_.stuck > before, Clock::now());
  budget_.note_stuck(static_cast<unsigned>(use_.stuck));
  // Rests grow: this is not said often.
  log::warn("{}: given up; the process (pid {}) is left alone for a while", what, owner.pid);
  return error_from_errno(ETIME, what + ": given up");
}

Result<ReaderPool::Asked> ReaderPool::ask(Reader& reader, milliseconds patience, const Owner& owner,
                                          const ReaderRequest& request, std::string_view payload,
                                          int fd, const std::string& what) {
  if (!reader.socket) return error_from_errno(ETIME, what + ": given up");
  const auto head = std::as_bytes(std::span(&request, 1));
  if (!send_message(reader.socket.get(), head, payload, fd)) {
    reader.socket.reset();
    return last_error(what + ": ask a reader");
  }
  Asked asked;
  std::string message;
  const auto began = Clock::now();
  for (;;) {
    if (!wait_for_answer(fs(), reader, patience, stopped_)) {
      if (stopped_) return error_from_errno(ETIME, what + ": the exporter ends");
      charge(owner, Clock::now() - began);
      return give_up(reader, owner, what + ": no answer within " + milliseconds_text(patience));
    }
    if (!receive_message(reader.socket.get(), message, asked.fd)) {
      reader.socket.reset();
      return error_from_errno(EAGAIN, what + ": the reader has ended");
    }
    Unpacker unpacker(message);
    const auto answer = unpacker.take<ReaderAnswer>();
    if (!answer) return error_in_words(what + ": the reader gave no answer");
    if (answer->ok == 0) {
      std::string context(unpacker.rest());
      return answer->error == 0 ? error_in_words(std::move(context))
                                : error_from_errno(static_cast<int>(answer->error), context);
    }
    asked.bytes.append(unpacker.rest());
    if (answer->more != 0) continue;
    charge(owner, Clock::now() - began);
    return asked;
  }
}

Result<ReaderPool::Asked> ReaderPool::ask(Kind kind, pid_t pid, const ReaderRequest& request,
                                          std::string_view payload, int fd,
                                          const std::string& what) {
  const auto owner = may_read(pid, what);
  if (!owner) return owner.error();
  auto reader = take(kind);
  if (!reader) return std::move(reader).error();
  const auto patience = kind == Kind::memory ? kMemoryPatience : kFilePatience;
  auto asked = ask(*reader, patience, *owner, request, payload, fd, what);
  give_back(kind, std::move(*reader));
  return asked;
}

Result<std::unique_ptr<Memory>> ReaderPool::memory(const IocId& id) {
  const std::string what = "read memory of pid " + std::to_string(id.pid);
  const auto owner = may_read(id.pid, what);
  if (!owner) return owner.error();
  auto reader = take(Kind::memory);
  if (!reader) return std::move(reader).error();
  auto opened =
      ask(*reader, kMemoryPatience, *owner, {ReaderOp::open_memory}, bytes_of(id), -1, what);
  if (!opened) {
    give_back(Kind::memory, std::move(*reader));
    return std::move(opened).error();
  }
  return std::unique_ptr<Memory>(std::make_unique<RemoteMemory>(*this, std::move(*reader), *owner));
}

Result<std::string> ReaderPool::text(pid_t pid, const std::string& path, std::size_t limit) {
  const ReaderRequest request{ReaderOp::text, 0, limit, 0};
  auto asked = ask(Kind::memory, pid, request, path, -1, "read " + path);
  if (!asked) return std::move(asked).error();
  return std::move(asked->bytes);
}

Result<std::vector<FileStatus>> ReaderPool::statuses(pid_t pid,
                                                     std::span<const std::string> paths) {
  std::vector<FileStatus> all;
  const std::string what = "stat files of pid " + std::to_string(pid);
  while (all.size() < paths.size()) {
    std::string payload;
    std::size_t end = all.size();
    while (end < paths.size() && payload.size() + paths[end].size() < kMostInPiece)
      payload.append(paths[end++]).append(1, '\0');
    auto asked = ask(Kind::files, pid, {ReaderOp::statuses}, payload, -1, what);
    if (!asked) return std::move(asked).error();
    Unpacker unpacker(asked->bytes);
    while (all.size() < end) {
      const auto status = unpacker.take<FileStatus>();
      if (!status) return error_in_words(what + ": the reader gave no answer");
      all.push_back(*status);
    }
  }
  return all;
}

Result<UniqueFd> ReaderPool::open(pid_t pid, const std::string& path) {
  const ReaderRequest request{ReaderOp::open, 0, static_cast<std::uint64_t>(pid), 0};
  auto asked = ask(Kind::files, pid, request, path, -1, "open " + path);
  if (!asked) return std::move(asked).error();
  if (!asked->fd) return error_in_words("open " + path + ": the reader gave no descriptor");
  return std::move(asked->fd);
}

Result<ElfSymbols> ReaderPool::symbols(pid_t pid, int fd, const std::string& path) {
  auto asked = ask(Kind::files, pid, {ReaderOp::symbols}, path, fd, "read symbols of " + path);
  if (!asked) return std::move(asked).error();
  auto symbols = ElfSymbols::unpacked(asked->bytes);
  if (!symbols) return error_in_words("read symbols of " + path + ": the reader gave no answer");
  return std::move(*symbols);
}

Result<std::string> ReaderPool::base_version(pid_t pid, int fd,
                                             std::span<const LoadSegment> segments) {
  auto asked = ask(Kind::files, pid, {ReaderOp::base_version},
                   {reinterpret_cast<const char*>(segments.data()), segments.size_bytes()}, fd,
                   "search a file for the version of EPICS Base");
  if (!asked) return std::move(asked).error();
  return std::move(asked->bytes);
}

ReaderSample ReaderPool::use() {
  bool ask_forker = false;
  {
    const std::scoped_lock lock(mutex_);
    ask_forker = use_.stuck > 0;
  }
  const auto stuck = ask_forker ? forker_.stuck() : Result<unsigned>(0u);
  const std::scoped_lock lock(mutex_);
  if (ask_forker && stuck) {
    use_.stuck = *stuck;
    budget_.note_stuck(*stuck);
  }
  use_.left_alone = budget_.left_alone(Clock::now());
  return use_;
}

}  // namespace ioc_exporter::iocs
