#include "iocs/memory/reader_pool.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/ascii.h"
#include "base/log.h"
#include "iocs/elf/code_file.h"
#include "iocs/find/process_signs.h"
#include "iocs/memory/reader_child.h"

namespace ioc_exporter::iocs {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMostIdle = 4;  // readers of a kind
// Of each reading: more than it takes of an ordinary process or library, or than a piece of memory.
constexpr milliseconds kFree{5};
// A reading that somebody waits for ends soon; one of low priority may wait for a CPU for long.
constexpr std::chrono::seconds kLongest{30};
constexpr std::chrono::seconds kLongestSearch{300};
// Time after which an unfetched answer is dropped.
constexpr std::chrono::seconds kAnswerKept{30};
// Limit of sleep and time of all readings of one memory: each page may be made to answer late.
constexpr std::chrono::seconds kMostAsleep{3};
constexpr std::chrono::seconds kLongestMemory{60};

template <class T>
std::string_view bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

// The same for every process that maps the file, until it is written to.
std::string key_of_file(int fd) {
  Packer packer;
  struct stat status {};
  (void)::fstat(fd, &status);
  packer.add(file_id(status));
  packer.add(status.st_ctim.tv_sec);
  packer.add(status.st_ctim.tv_nsec);
  return packer.bytes();
}

Error no_answer(const std::string& what) {
  return error_in_words(what + ": the reader gave no answer");
}

bool has_ended(int process) {
  pollfd end{process, POLLIN, 0};
  return ::poll(&end, 1, 0) > 0;
}

}  // namespace

// A process' memory, by a reader that holds it open.
class ReaderPool::RemoteMemory : public Memory {
 public:
  RemoteMemory(ReaderPool& pool, Reader reader, const ReadProcess& of)
      : pool_(pool), reader_(std::move(reader)), of_(of) {}
  ~RemoteMemory() override { pool_.give_back(Kind::light, std::move(reader_)); }

  Result<void> open(const IocId& id, const std::string& what) {
    const auto answer = ask({ReaderOp::open_memory}, bytes_of(std::span(&id, 1)), what);
    return answer ? Result<void>() : answer.error();
  }

  Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> into) override {
    if (into.empty()) return std::size_t{0};
    return fetch({ReaderOp::read_memory, 0, address, into.size()}, {}, address, 1, into);
  }

  Result<std::size_t> gather(std::span<const std::uint64_t> addresses, std::size_t size,
                             std::span<std::byte> into) override {
    if (addresses.empty() || size == 0) return std::size_t{0};
    const std::size_t most =
        std::min({addresses.size(), kMostInPiece / size, kMostInPiece / sizeof(std::uint64_t)});
    if (most == 0) return Memory::gather(addresses, size, into);
    addresses = addresses.first(most);
    return fetch({ReaderOp::gather, 0, size, 0}, bytes_of(addresses), addresses[0], size,
                 into.first(most * size));
  }

 private:
  // How many things of this size came. Not 0, which would be asked for again, for ever.
  Result<std::size_t> fetch(const ReaderRequest& request, std::string_view payload,
                            std::uint64_t address, std::size_t size_of_one,
                            std::span<std::byte> into) {
    const std::string what =
        "read memory at " + hex_address(address) + " (pid " + std::to_string(of_.pid) + ")";
    const auto answer = ask(request, payload, what);
    if (!answer) return answer.error();
    const std::size_t size = std::min(answer->bytes.size(), into.size());
    if (size < size_of_one) return no_answer(what);
    std::memcpy(into.data(), answer->bytes.data(), size);
    return size / size_of_one;
  }

  Result<Reading::Answer> ask(const ReaderRequest& request, std::string_view payload,
                              const std::string& what) {
    if (!reader_.socket) return error_from_errno(ETIME, what + ": given up");
    Reading reading(std::move(reader_), of_, {kMemoryPatience, kLongest}, what);
    if (!reading.ask(request, payload, -1)) return last_error(what + ": ask a reader");
    reading.wait(pool_.fs(), [this] { return pool_.stopped_.load(); });
    slept_ += reading.times().slept;
    waited_ += reading.times().waited;
    pool_.settle(reading);
    if (reading.answer() && (slept_ >= kMostAsleep || waited_ >= kLongestMemory))
      return pool_.give_up(reading, "all of it takes too long");
    reader_ = std::move(reading.reader());
    return reading.take_answer();
  }

  ReaderPool& pool_;
  Reader reader_;
  ReadProcess of_;
  std::chrono::nanoseconds slept_{0}, waited_{0};
};

Result<Reader> ReaderPool::take_reader(Kind kind) {
  {
    const std::scoped_lock lock(mutex_);
    auto& idle = idle_[kind];
    if (!idle.empty()) {
      Reader reader = std::move(idle.back());
      idle.pop_back();
      return reader;
    }
  }
  return fork_reader(kind);
}

Result<Reader> ReaderPool::fork_reader(Kind kind) {
  if (!helper_) return error_in_words("fork a reader: there is no helper process");
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return last_error("make a socket to a reader");
  Reader reader{UniqueFd(ends[0]), {}, 0};
  const UniqueFd other(ends[1]);
  HelperRequest request;
  request.what = static_cast<std::uint32_t>(ReaderProcessRequest::fork);
  request.number = kind == Kind::files ? 1 : 0;
  auto process = helper_->ask(request, other.get(), kHelperPatience);
  if (!process) return std::move(process).error();
  reader.process = std::move(*process);
  const auto info =
      RootedFs().read("/proc/self/fdinfo/" + std::to_string(reader.process.get()), 4096);
  reader.pid = static_cast<pid_t>(info ? number_after(*info, "\nPid:\t").value_or(0) : 0);
  return reader;
}

void ReaderPool::give_back(Kind kind, Reader reader) {
  if (!reader.socket) return;
  const std::scoped_lock lock(mutex_);
  auto& idle = idle_[kind];
  if (idle.size() < kMostIdle) idle.push_back(std::move(reader));
  // Else its socket is closed, and it ends by itself.
}

// Under the mutex.
bool ReaderPool::is_stuck(uid_t user) {
  std::erase_if(killed_, [](const auto& one) { return has_ended(one.first.get()); });
  const auto own = static_cast<std::size_t>(
      std::ranges::count(killed_, user, [](const auto& one) { return one.second; }));
  return own >= kMostStuckOfUser || (killed_.size() >= kMostStuck && own > 0);
}

// Under the mutex. The log has a line now and then: there may be many.
Error ReaderPool::put_off(const std::string& what, int code, const std::string& why) {
  ++sample_.put_off;
  if (put_off_lines_.allows(Clock::now())) log::warn("{}: put off, {}", what, why);
  return error_from_errno(code, what + ": put off, " + why);
}

Result<ReadProcess> ReaderPool::may_read(pid_t pid, const std::string& what) {
  if (stopped_) return error_from_errno(ETIME, what + ": the exporter ends");
  const uid_t user = user_of(fs(), pid).value_or(kNoUser);
  const std::scoped_lock lock(mutex_);
  const auto now = Clock::now();
  if (budget_.is_resting(pid, now))
    return error_from_errno(ETIME, what + ": not read for a while, it did not answer");
  if (is_stuck(user))
    return error_from_errno(ETIME, what + ": readings of this user's processes never end");
  if (budget_.is_overdrawn(user, now))
    return put_off(what, EAGAIN,
                   "readings of processes of user " +
                       (user == kNoUser ? "(unknown)" : std::to_string(user)) + " take too long");
  return ReadProcess{pid, user};
}

Error ReaderPool::give_up(Reading& reading, const std::string& why) {
  Reader reader = std::move(reading.reader());
  HelperRequest request;
  request.what = static_cast<std::uint32_t>(ReaderProcessRequest::kill);
  const auto killed = helper_->ask(request, reader.process.get(), kHelperPatience);
  const std::string text = reading.what() + ": " + why;
  log::warn("{}; the process (pid {}) is not read for a while{}", text, reading.of().pid,
            killed ? "" : ", its reader cannot be killed: " + killed.error().message());
  const std::scoped_lock lock(mutex_);
  ++sample_.given_up;
  killed_.emplace_back(std::move(reader.process), reading.of().user);
  budget_.note_hang(reading.of().pid, Clock::now());
  return error_from_errno(ETIME, text);
}

// When no caller waits any more: charges the reading and gives it an answer. Readings of an
// ordinary process are free: many IOCs may belong to one user.
void ReaderPool::settle(Reading& reading) {
  if (const auto time = reading.cost(); reading.is_over() && time > kFree) {
    const std::scoped_lock lock(mutex_);
    budget_.charge(reading.of().user, time - kFree, Clock::now());
  }
  if (reading.is_late())
    reading.fail(give_up(
        reading, "no answer within " + std::to_string(reading.limits().asleep.count()) + " ms"));
  if (reading.is_over()) return;
  reading.fail(error_from_errno(ETIME, reading.what() + ": the exporter ends"));
  reading.reader().socket.reset();  // its next answer would be that of this reading
}

void ReaderPool::begin_look() {
  const auto now = Clock::now();
  turn_ends_ = now + kTurn;
  for (auto& [key, parked] : parked_) move_on(parked, [] { return true; });
  std::erase_if(parked_, [now](const auto& entry) {
    return entry.second.reading.is_over() && now - entry.second.wanted > kAnswerKept;
  });
}

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

// The last quarter is for users who have none.
Result<void> ReaderPool::find_place(Kind kind, uid_t user, const std::string& what) {
  struct Places {
    std::size_t all = 0, own = 0;
    bool are_taken(std::size_t most) const { return all >= (own == 0 ? most : most * 3 / 4); }
  } readings, searches;
  std::size_t own_bytes = 0;
  for (const auto& [key, parked] : parked_) {
    const bool is_own = parked.reading.of().user == user;
    if (parked.reading.is_over()) {
      if (is_own && parked.reading.answer()) own_bytes += parked.reading.answer()->bytes.size();
      continue;
    }
    ++readings.all;
    readings.own += is_own;
    searches.all += parked.kind == Kind::files;
    searches.own += is_own && parked.kind == Kind::files;
  }
  const bool is_search = kind == Kind::files;
  if (readings.own >= kMostParkedOfUser || own_bytes >= kMostKeptOfUser ||
      (is_search && searches.own >= kMostSearchesOfUser))
    return error_from_errno(EINPROGRESS, what + ": waits for others of this user");
  if (!readings.are_taken(kMostParked) && !(is_search && searches.are_taken(kMostSearches)))
    return {};
  const std::scoped_lock lock(mutex_);
  return put_off(what, EINPROGRESS, "readings for other users take all the places");
}

void ReaderPool::move_on(Parked& parked, const std::function<bool()>& enough) {
  if (!parked.reading.reader().socket || !parked.reading.wait(fs(), enough)) return;
  settle(parked.reading);
  give_back(parked.kind, std::move(parked.reading.reader()));
}

Result<ReaderPool::Parked> ReaderPool::start(const Question& question, pid_t pid,
                                             const std::string& what) {
  const Kind kind = question.of_file ? Kind::files : Kind::light;
  const auto of = may_read(pid, what);
  if (!of) return of.error();
  if (auto place = find_place(kind, of->user, what); !place) return place.error();
  auto reader = take_reader(kind);
  if (!reader) return std::move(reader).error();
  const Reading::Limits limits{question.patience, question.of_file ? kLongestSearch : kLongest};
  Parked parked{Reading(std::move(*reader), *of, limits, what), kind, question.of_file ? 0 : pid,
                Clock::now()};
  if (!parked.reading.ask(question.request, question.payload, question.fd))
    return last_error(what + ": ask a reader");
  return parked;
}

Result<Reading::Answer> ReaderPool::ask(const Question& question, pid_t pid,
                                        const std::string& what) {
  Packer same;  // for the same question
  same.add(question.request.op);
  if (!question.of_file) same.add(pid);
  const std::string key =
      same.bytes() + (question.of_file ? key_of_file(question.fd) : question.payload);
  auto found = parked_.find(key);
  const bool is_new = found == parked_.end();
  if (is_new) {
    auto started = start(question, pid, what);
    if (!started) return std::move(started).error();
    found = parked_.emplace(key, std::move(*started)).first;
  }
  Parked& parked = found->second;
  // No caller waits twice for the same reading.
  move_on(parked, [this, is_new] {
    return stopped_ || (!waits_ && (!is_new || Clock::now() >= turn_ends_));
  });
  parked.wanted = Clock::now();
  if (stopped_ && !parked.reading.is_over()) settle(parked.reading);
  if (!parked.reading.is_over())
    return error_from_errno(EINPROGRESS, what + ": a reader works on it");
  auto answer = parked.reading.take_answer();
  parked_.erase(found);
  return answer;
}

Result<std::unique_ptr<Memory>> ReaderPool::memory(const IocId& id) {
  const std::string what = "read memory of pid " + std::to_string(id.pid);
  const auto of = may_read(id.pid, what);
  if (!of) return of.error();
  auto reader = take_reader(Kind::light);
  if (!reader) return std::move(reader).error();
  auto memory = std::make_unique<RemoteMemory>(*this, std::move(*reader), *of);
  if (auto opened = memory->open(id, what); !opened) return opened.error();
  return std::unique_ptr<Memory>(std::move(memory));
}

Result<std::string> ReaderPool::text(pid_t pid, const std::string& path, std::size_t limit) {
  auto answer =
      ask({.request = {ReaderOp::text, 0, limit, 0}, .payload = path, .patience = kMemoryPatience},
          pid, "read " + path);
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
    auto answer = ask({.request = {ReaderOp::statuses}, .payload = payload}, pid, what);
    if (!answer) return std::move(answer).error();
    Unpacker unpacker(answer->bytes);
    while (all.size() < end) {
      const auto status = unpacker.take<FileStatus>();
      if (!status) return no_answer(what);
      all.push_back(*status);
    }
  }
  return all;
}

Result<UniqueFd> ReaderPool::open(pid_t pid, const std::string& path) {
  const std::string what = "open " + path;
  auto answer =
      ask({.request = {ReaderOp::open, 0, static_cast<std::uint64_t>(pid), 0}, .payload = path},
          pid, what);
  if (!answer) return std::move(answer).error();
  if (!answer->fd) return no_answer(what);
  return std::move(answer->fd);
}

Result<ElfSymbols> ReaderPool::symbols(pid_t pid, int fd, const std::string& path) {
  const std::string what = "read symbols of " + path;
  auto answer =
      ask({.request = {ReaderOp::symbols}, .payload = path, .fd = fd, .of_file = true}, pid, what);
  if (!answer) return std::move(answer).error();
  auto symbols = ElfSymbols::unpacked(answer->bytes);
  if (!symbols) return no_answer(what);
  return std::move(*symbols);
}

Result<std::string> ReaderPool::base_version(pid_t pid, int fd,
                                             std::span<const LoadSegment> segments) {
  auto answer = ask({.request = {ReaderOp::base_version},
                     .payload = std::string(bytes_of(segments)),
                     .fd = fd,
                     .of_file = true},
                    pid, "search a file for the version of EPICS Base");
  if (!answer) return std::move(answer).error();
  return std::move(answer->bytes);
}

ReaderSample ReaderPool::sample() {
  const std::scoped_lock lock(mutex_);
  sample_.unwatched = budget_.resting(Clock::now());
  return sample_;
}

}  // namespace ioc_exporter::iocs
