#include "iocs/memory/reader_pool.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "iocs/elf/code_file.h"
#include "iocs/find/process_user.h"

namespace ioc_exporter::iocs {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMostIdle = 4;  // readers of a kind
// Of each reading: more than it takes of an ordinary process or library, or than a piece of memory.
constexpr milliseconds kFree{5};
// What somebody waits for ends soon; what has low priority and a CPU to wait for may take long.
constexpr std::chrono::seconds kLongest{30};
constexpr std::chrono::seconds kLongestSearch{300};
// An answer that nobody comes for.
constexpr std::chrono::seconds kAnswerKept{30};
// What all readings of one memory may sleep, and take: a page may be made to answer late each time.
constexpr std::chrono::seconds kMostAsleep{3};
constexpr std::chrono::seconds kLongestMemory{60};

std::string_view bytes_of(const IocId& id) {
  return {reinterpret_cast<const char*>(&id), sizeof id};
}

// One that has ended costs nobody anything.
uid_t payer_of(const RootedFs& fs, pid_t pid) {
  return user_of(fs, pid).value_or(kNoUser);
}

std::string milliseconds_text(std::chrono::milliseconds time) {
  std::string text = std::to_string(time.count());
  return text + " ms";
}

// The same for every process that maps the file, until it is written to.
std::string key_of_file(ReaderOp op, int fd) {
  Packer packer;
  packer.add(op);
  struct stat status {};
  (void)::fstat(fd, &status);
  packer.add(file_id(status));
  packer.add(status.st_ctim.tv_sec);
  packer.add(status.st_ctim.tv_nsec);
  return packer.bytes();
}

std::string key_of_process(ReaderOp op, pid_t pid, std::string_view rest) {
  Packer packer;
  packer.add(op);
  packer.add(pid);
  return packer.bytes() + std::string(rest);
}

}  // namespace

// What a process has in its memory, by a reader that holds it open.
class ReaderPool::RemoteMemory : public Memory {
 public:
  RemoteMemory(ReaderPool& pool, Reader reader, const Owner& owner)
      : pool_(pool), reader_(std::move(reader)), owner_(owner) {}
  ~RemoteMemory() override { pool_.give_back(Kind::light, std::move(reader_)); }

  Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> into) override {
    if (into.empty()) return std::size_t{0};
    const ReaderRequest request{ReaderOp::read_memory, 0, address, into.size()};
    auto answer = ask(request, {}, address);
    if (!answer) return std::move(answer).error();
    return take(answer->bytes, 1, into, address);
  }

  Result<std::size_t> gather(std::span<const std::uint64_t> addresses, std::size_t size,
                             std::span<std::byte> into) override {
    if (addresses.empty() || size == 0) return std::size_t{0};
    const std::size_t most =
        std::min({addresses.size(), kMostInPiece / size, kMostInPiece / sizeof(std::uint64_t)});
    if (most == 0) return Memory::gather(addresses, size, into);
    addresses = addresses.first(most);
    const ReaderRequest request{ReaderOp::gather, 0, size, 0};
    auto answer =
        ask(request, {reinterpret_cast<const char*>(addresses.data()), addresses.size_bytes()},
            addresses[0]);
    if (!answer) return std::move(answer).error();
    return take(answer->bytes, size, into.first(most * size), addresses[0]);
  }

 private:
  Result<Reading::Answer> ask(const ReaderRequest& request, std::string_view payload,
                              std::uint64_t address) {
    auto answer = pool_.ask(reader_, owner_, request, payload, what(address), &total_);
    if (answer && (total_.slept >= kMostAsleep || total_.waited >= kLongestMemory))
      return pool_.give_up(reader_, owner_, what(address) + ": all of it takes too long");
    return answer;
  }
  std::string what(std::uint64_t address) const {
    return "read memory at " + hex_address(address) + " (pid " + std::to_string(owner_.pid) + ")";
  }
  // How many things of this size it brought. None would be asked for again, for ever.
  Result<std::size_t> take(const std::string& bytes, std::size_t size_of_one,
                           std::span<std::byte> into, std::uint64_t address) const {
    const std::size_t size = std::min(bytes.size(), into.size());
    if (size < size_of_one) return error_in_words(what(address) + ": the reader gave no answer");
    std::memcpy(into.data(), bytes.data(), size);
    return size / size_of_one;
  }

  ReaderPool& pool_;
  Reader reader_;
  Owner owner_;
  Reading::Times total_;
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
// a reader waits for a CPU counts while somebody waits for the reader.
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

Result<Reading::Answer> ReaderPool::answer_of(Reading& reading, const Owner& owner) {
  if (!reading.is_over()) return error_from_errno(ETIME, reading.what() + ": the exporter ends");
  charge(owner, reading.cost());
  if (!reading.is_silent()) return reading.take_answer();
  return give_up(
      reading.reader(), owner,
      reading.what() + ": no answer within " + milliseconds_text(reading.limits().patience));
}

Result<Reading::Answer> ReaderPool::ask(Reader& reader, const Owner& owner,
                                        const ReaderRequest& request, std::string_view payload,
                                        const std::string& what, Reading::Times* total) {
  if (!reader.socket) return error_from_errno(ETIME, what + ": given up");
  Reading reading(std::move(reader), {kMemoryPatience, kLongest}, what);
  if (!reading.ask(request, payload, -1)) return last_error(what + ": ask a reader");
  reading.wait(fs(), [this] { return stopped_.load(); });
  if (total != nullptr) *total += reading.times();
  auto answer = answer_of(reading, owner);
  reader = std::move(reading.reader());
  return answer;
}

void ReaderPool::begin_look() {
  const auto now = Clock::now();
  turn_ends_ = now + kTurn;
  for (auto& [key, parked] : parked_) move_on(parked, [] { return true; });
  std::erase_if(parked_, [now](const auto& entry) {
    return entry.second.answer && now - entry.second.wanted > kAnswerKept;
  });
}

// Its number may be given out again, and what was asked for was about another program.
void ReaderPool::forget(pid_t pid) {
  for (auto parked = parked_.begin(); parked != parked_.end();) {
    const auto next = std::next(parked);
    if (parked->second.of == pid) {
      auto node = parked_.extract(parked);
      node.key() = "forgotten " + std::to_string(forgotten_++);
      node.mapped().of = 0;
      node.mapped().wanted = {};
      parked_.insert(std::move(node));
    }
    parked = next;
  }
}

// The last quarter is for users who have nothing there.
ReaderPool::Room ReaderPool::room_for(Kind kind, uid_t user) {
  std::size_t all = 0, own = 0, searches = 0, own_searches = 0, own_bytes = 0;
  for (const auto& [key, parked] : parked_) {
    const bool is_own = parked.owner.user == user;
    if (parked.answer) {
      if (is_own && parked.answer->ok()) own_bytes += (**parked.answer).bytes.size();
      continue;
    }
    const bool is_search = parked.kind == Kind::files;
    ++all;
    own += is_own;
    searches += is_search;
    own_searches += is_own && is_search;
  }
  const bool is_search = kind == Kind::files;
  if (own >= kMostParkedOfUser || own_bytes >= kMostKeptOfUser ||
      (is_search && own_searches >= kMostSearchesOfUser))
    return Room::own_is_taken;
  const auto most = [](std::size_t places, std::size_t held) {
    return held == 0 ? places : places * 3 / 4;
  };
  const bool fits =
      all < most(kMostParked, own) && (!is_search || searches < most(kMostSearches, own_searches));
  return fits ? Room::there_is : Room::none;
}

void ReaderPool::move_on(Parked& parked, const std::function<bool()>& enough) {
  if (parked.answer || !parked.reading.wait(fs(), enough)) return;
  parked.answer = answer_of(parked.reading, parked.owner);
  give_back(parked.kind, std::move(parked.reading.reader()));
}

Result<ReaderPool::Parked> ReaderPool::start(const Question& question, pid_t pid,
                                             const ReaderRequest& request, std::string_view payload,
                                             int fd, const std::string& what) {
  const auto owner = may_read(pid, what);
  if (!owner) return owner.error();
  switch (room_for(question.kind, owner->user)) {
    case Room::there_is:
      break;
    case Room::own_is_taken:
      return error_from_errno(EINPROGRESS, what + ": others of this user come first");
    case Room::none: {
      const std::scoped_lock lock(mutex_);
      ++use_.put_off;
      if (put_off_lines_.allows(Clock::now()))
        log::warn("{}: waits, readings of other users take all the places", what);
      return error_from_errno(EINPROGRESS, what + ": others come first");
    }
  }
  auto reader = take(question.kind);
  if (!reader) return std::move(reader).error();
  const auto longest = question.kind == Kind::files ? kLongestSearch : kLongest;
  Parked parked{Reading(std::move(*reader), {question.patience, longest}, what),
                *owner,
                question.kind,
                question.of,
                {},
                {}};
  if (!parked.reading.ask(request, payload, fd)) return last_error(what + ": ask a reader");
  return parked;
}

Result<Reading::Answer> ReaderPool::ask(const Question& question, pid_t pid,
                                        const ReaderRequest& request, std::string_view payload,
                                        int fd, const std::string& what) {
  auto found = parked_.find(question.key);
  const bool is_new = found == parked_.end();
  if (is_new) {
    auto started = start(question, pid, request, payload, fd, what);
    if (!started) return std::move(started).error();
    found = parked_.emplace(question.key, std::move(*started)).first;
  }
  Parked& parked = found->second;
  // For one that was asked for earlier nobody waits again.
  move_on(parked, [this, is_new] {
    return stopped_ || (!is_patient_ && (!is_new || Clock::now() >= turn_ends_));
  });
  parked.wanted = Clock::now();
  if (!parked.answer && !stopped_)
    return error_from_errno(EINPROGRESS, what + ": a reader is at it");
  if (!parked.answer) parked.answer = error_from_errno(ETIME, what + ": the exporter ends");
  auto answer = std::move(*parked.answer);
  parked_.erase(found);
  return answer;
}

Result<std::unique_ptr<Memory>> ReaderPool::memory(const IocId& id) {
  const std::string what = "read memory of pid " + std::to_string(id.pid);
  const auto owner = may_read(id.pid, what);
  if (!owner) return owner.error();
  auto reader = take(Kind::light);
  if (!reader) return std::move(reader).error();
  auto opened = ask(*reader, *owner, {ReaderOp::open_memory}, bytes_of(id), what, nullptr);
  if (!opened) {
    give_back(Kind::light, std::move(*reader));
    return std::move(opened).error();
  }
  return std::unique_ptr<Memory>(std::make_unique<RemoteMemory>(*this, std::move(*reader), *owner));
}

Result<std::string> ReaderPool::text(pid_t pid, const std::string& path, std::size_t limit) {
  const ReaderRequest request{ReaderOp::text, 0, limit, 0};
  auto answer = ask({key_of_process(ReaderOp::text, pid, path), Kind::light, pid, kMemoryPatience},
                    pid, request, path, -1, "read " + path);
  if (!answer) return std::move(answer).error();
  return std::move(answer->bytes);
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
    auto answer = ask({key_of_process(ReaderOp::statuses, pid, payload), Kind::light, pid}, pid,
                      {ReaderOp::statuses}, payload, -1, what);
    if (!answer) return std::move(answer).error();
    Unpacker unpacker(answer->bytes);
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
  auto answer = ask({key_of_process(ReaderOp::open, pid, path), Kind::light, pid}, pid, request,
                    path, -1, "open " + path);
  if (!answer) return std::move(answer).error();
  if (!answer->fd) return error_in_words("open " + path + ": the reader gave no descriptor");
  return std::move(answer->fd);
}

Result<ElfSymbols> ReaderPool::symbols(pid_t pid, int fd, const std::string& path) {
  auto answer = ask({key_of_file(ReaderOp::symbols, fd), Kind::files}, pid, {ReaderOp::symbols},
                    path, fd, "read symbols of " + path);
  if (!answer) return std::move(answer).error();
  auto symbols = ElfSymbols::unpacked(answer->bytes);
  if (!symbols) return error_in_words("read symbols of " + path + ": the reader gave no answer");
  return std::move(*symbols);
}

Result<std::string> ReaderPool::base_version(pid_t pid, int fd,
                                             std::span<const LoadSegment> segments) {
  auto answer =
      ask({key_of_file(ReaderOp::base_version, fd), Kind::files}, pid, {ReaderOp::base_version},
          {reinterpret_cast<const char*>(segments.data()), segments.size_bytes()}, fd,
          "search a file for the version of EPICS Base");
  if (!answer) return std::move(answer).error();
  return std::move(answer->bytes);
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
