#include "iocs/memory/reader_pool.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <iterator>

#include "base/ascii.h"
#include "base/packer.h"
#include "iocs/find/process_stat.h"

namespace ioc_exporter::iocs {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::size_t kMostIdle = 4;
constexpr milliseconds kCheckInterval{20};
// A reader that sleeps now may have run since the last check: at most this counts as sleep.
constexpr milliseconds kMostAsleepBetween{100};
// More than any answer has. A reader that was taken over by what it read cannot go on for ever.
constexpr unsigned kMostPieces = 4096;
// Limit of sleep and time of all readings of one memory: each page may be made to answer late.
constexpr std::chrono::seconds kMostAsleep{3};
constexpr std::chrono::seconds kLongestMemory{60};

template <class T>
std::string_view bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

Error no_answer(const std::string& what) {
  return error_in_words(what + ": the reader gave no answer");
}

std::string no_answer_within(const std::string& what, milliseconds patience) {
  return what + ": no answer within " + std::to_string(patience.count()) + " ms";
}

bool has_ended(int process) {
  pollfd end{process, POLLIN, 0};
  return ::poll(&end, 1, 0) > 0;
}

}  // namespace

// A process' memory, by a reader that holds it open.
class ReaderPool::RemoteMemory : public Memory {
 public:
  RemoteMemory(ReaderPool& pool, Reader reader, pid_t pid)
      : pool_(pool), reader_(std::move(reader)), pid_(pid) {}
  ~RemoteMemory() override { pool_.give_back(std::move(reader_)); }

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
        "read memory at " + hex_address(address) + " (pid " + std::to_string(pid_) + ")";
    const auto answer = ask(request, payload, what);
    if (!answer) return answer.error();
    const std::size_t size = std::min(answer->bytes.size(), into.size());
    if (size < size_of_one) return no_answer(what);
    std::memcpy(into.data(), answer->bytes.data(), size);
    return size / size_of_one;
  }

  Result<Answer> ask(const ReaderRequest& request, std::string_view payload,
                     const std::string& what) {
    if (!reader_.socket) return error_from_errno(ETIME, what + ": given up");
    auto answer = pool_.ask(reader_, pid_, {request, payload, -1, kMemoryPatience}, what, spent_);
    if (answer && (spent_.asleep >= kMostAsleep || spent_.waited >= kLongestMemory))
      return pool_.give_up(reader_, pid_, what + ": all of it takes too long");
    return answer;
  }

  ReaderPool& pool_;
  Reader reader_;
  pid_t pid_;
  Spent spent_;
};

Result<ReaderPool::Reader> ReaderPool::take_reader() {
  {
    const std::scoped_lock lock(mutex_);
    if (!idle_.empty()) {
      Reader reader = std::move(idle_.back());
      idle_.pop_back();
      return reader;
    }
  }
  return fork_reader();
}

Result<ReaderPool::Reader> ReaderPool::fork_reader() {
  if (!helper_) return error_in_words("fork a reader: there is no helper process");
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return last_error("make a socket to a reader");
  Reader reader{UniqueFd(ends[0]), {}, 0};
  const UniqueFd other(ends[1]);
  HelperRequest request;
  request.what = static_cast<std::uint32_t>(ReaderProcessRequest::fork);
  auto process = helper_->ask(request, other.get(), kHelperPatience);
  if (!process) return std::move(process).error();
  reader.process = std::move(*process);
  const auto info =
      RootedFs().read("/proc/self/fdinfo/" + std::to_string(reader.process.get()), 4096);
  reader.pid = static_cast<pid_t>(info ? number_after(*info, "\nPid:\t").value_or(0) : 0);
  return reader;
}

void ReaderPool::give_back(Reader reader) {
  const std::scoped_lock lock(mutex_);
  if (reader.socket && idle_.size() < kMostIdle) idle_.push_back(std::move(reader));
  // Else its socket is closed, and it ends by itself.
}

Result<void> ReaderPool::may_read(pid_t pid, const std::string& what) {
  if (stopped_) return error_from_errno(ETIME, what + ": the exporter ends");
  give_up_longest();
  const std::scoped_lock lock(mutex_);
  if (pauses_.is_paused(pid, Clock::now()))
    return error_from_errno(ETIME, what + ": not read for a while, it did not answer");
  std::erase_if(killed_, [](const auto& one) { return has_ended(one.first.get()); });
  if (std::ranges::any_of(killed_, [pid](const auto& one) { return one.second == pid; }))
    return error_from_errno(ETIME, what + ": a reading of this process never ends");
  return {};
}

Error ReaderPool::give_up(Reader& reader, pid_t pid, const std::string& text) {
  HelperRequest request;
  request.what = static_cast<std::uint32_t>(ReaderProcessRequest::kill);
  const auto killed = helper_->ask(request, reader.process.get(), kHelperPatience);
  log::warn("{}; the process (pid {}) is not read for a while{}", text, pid,
            killed ? "" : ", its reader cannot be killed: " + killed.error().message());
  const std::scoped_lock lock(mutex_);
  ++sample_.given_up;
  killed_.emplace_back(std::move(reader.process), pid);
  reader = {};
  pauses_.note_hang(pid, Clock::now());
  return error_from_errno(ETIME, text);
}

// Without its socket a reader takes no other question: its next answer would be that of this one.
Result<void> ReaderPool::send(Reader& reader, const Question& question, const std::string& what) {
  if (send_message(reader.socket.get(), question.request, question.payload, question.fd)) return {};
  const Error why = last_error(what + ": ask a reader");
  reader.socket.reset();
  return why;
}

Result<ReaderPool::Answer> ReaderPool::ask(Reader& reader, pid_t pid, const Question& question,
                                           const std::string& what, Spent& spent) {
  if (auto sent = send(reader, question, what); !sent) return sent.error();
  Reading reading;
  Outcome outcome{};
  auto answer = wait(reader, reading, question.patience, kLongest, what, outcome);
  const auto waited = Clock::now() - reading.began;
  spent.waited += waited;
  spent.asleep += reading.asleep;
  if (outcome == Outcome::over) return answer;
  return give_up(reader, pid, no_answer_within(what, question.patience));
}

Result<ReaderPool::Answer> ReaderPool::wait(Reader& reader, Reading& reading, milliseconds patience,
                                            milliseconds at_once, const std::string& what,
                                            Outcome& outcome) {
  const auto until = Clock::now() + at_once;
  Answer& answer = reading.answer;
  std::string message;
  while (!stopped_) {
    pollfd ready{reader.socket.get(), POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(kCheckInterval.count())) <= 0) {
      // A reader that runs, or waits for a CPU, does not hang.
      const auto now = Clock::now();
      const auto stat = read_process_stat(fs(), reader.pid);
      const bool runs = stat && stat->state == 'R';
      if (!runs)
        reading.asleep += std::min<nanoseconds>(now - reading.last_check, kMostAsleepBetween);
      reading.last_check = now;
      if (reading.asleep >= patience || now >= reading.began + kLongest)
        outcome = Outcome::late;
      else if (runs && now >= until)
        outcome = Outcome::goes_on;
      if (outcome != Outcome::over) return no_answer(what);
      continue;
    }
    const auto got = receive_message(reader.socket.get(), message, answer.fd);
    if (!got) {
      reader.socket.reset();
      return error_from_errno(EAGAIN, what + ": the reader has ended");
    }
    const auto room = check_room(*got, answer.fd);
    Unpacker unpacker(message);
    const auto head = unpacker.take<ReaderAnswer>();
    if (!head || ++reading.pieces > kMostPieces) break;
    if (head->ok == 0) {
      std::string context(unpacker.remainder());
      return head->error == 0 ? error_in_words(std::move(context))
                              : error_from_errno(static_cast<int>(head->error), context);
    }
    answer.bytes.append(unpacker.remainder());
    reading.last_check = Clock::now();
    if (head->more == 0 && !room) return error_from_errno(EMFILE, what);
    if (head->more == 0) return std::move(answer);
  }
  reader.socket.reset();
  return stopped_ ? error_from_errno(ETIME, what + ": the exporter ends") : no_answer(what);
}

// The reading of that file that was begun before; nothing: none of this process was.
Result<std::optional<ReaderPool::LongReading>> ReaderPool::take_long(pid_t pid, const FileKey& key,
                                                                     const std::string& what) {
  const std::scoped_lock lock(mutex_);
  const auto found = long_.find(pid);
  if (found == long_.end() ? long_pauses_.is_paused(pid, Clock::now()) : found->second.key != key)
    return error_from_errno(
        EAGAIN, what + ": put off, another file of pid " + std::to_string(pid) + " takes long");
  std::optional<LongReading> taken;
  if (found != long_.end()) taken = std::move(long_.extract(found).mapped());
  return taken;
}

// A file of any size may be mapped: after `at_once_` the caller gets EAGAIN, goes on with other
// processes, and asks again.
Result<ReaderPool::Answer> ReaderPool::ask_of_file(const Question& question, pid_t pid,
                                                   const std::string& what) {
  struct stat status {};
  if (::fstat(question.fd, &status) != 0) return last_error(what);
  const FileKey key{question.request.op, elf::file_id(status), std::string(question.payload)};
  auto taken = take_long(pid, key, what);
  if (!taken) return std::move(taken).error();
  const bool is_long = taken->has_value();
  if (!is_long) {
    if (auto may = may_read(pid, what); !may) return may.error();
    auto reader = take_reader();
    if (!reader) return std::move(reader).error();
    if (auto sent = send(*reader, question, what); !sent) return sent.error();
    *taken = LongReading{key, pid, std::move(*reader), {}};
  }
  LongReading one = std::move(**taken);
  Outcome outcome{};
  auto answer = wait(one.reader, one.reading, question.patience,
                     is_long ? milliseconds(0) : at_once_, what, outcome);
  std::unique_lock lock(mutex_);
  if (is_long && outcome != Outcome::goes_on) long_pauses_.note_hang(pid, Clock::now());
  if (outcome == Outcome::late) {
    lock.unlock();
    return give_up(one.reader, pid, no_answer_within(what, question.patience));
  }
  if (outcome == Outcome::over) {
    lock.unlock();
    give_back(std::move(one.reader));
    return answer;
  }
  if (!long_.contains(pid) && long_.size() < kMostLong) {
    long_.emplace(pid, std::move(one));
    return error_from_errno(EAGAIN, what + ": it takes long, others are read meanwhile");
  }
  lock.unlock();
  return give_up(one.reader, pid, what + ": files of other processes take long, too");
}

// Nobody asks for those of a process that has ended.
void ReaderPool::give_up_longest() {
  std::vector<LongReading> over;
  {
    const std::scoped_lock lock(mutex_);
    const auto now = Clock::now();
    for (auto one = long_.begin(); one != long_.end();) {
      const auto next = std::next(one);
      if (now >= one->second.reading.began + kLongest) {
        long_pauses_.note_hang(one->first, now);
        over.push_back(std::move(long_.extract(one).mapped()));
      }
      one = next;
    }
  }
  for (LongReading& one : over)
    give_up(one.reader, one.pid, no_answer_within("read a file", kLongest));
}

Result<ReaderPool::Answer> ReaderPool::ask(const Question& question, pid_t pid,
                                           const std::string& what) {
  if (auto may = may_read(pid, what); !may) return may.error();
  auto reader = take_reader();
  if (!reader) return std::move(reader).error();
  Spent spent;
  auto answer = ask(*reader, pid, question, what, spent);
  give_back(std::move(*reader));
  return answer;
}

void ReaderPool::begin(pid_t pid) {
  const std::scoped_lock lock(mutex_);
  pauses_.forget(pid);
  long_pauses_.forget(pid);
}

Result<std::unique_ptr<Memory>> ReaderPool::memory(const IocId& id) {
  const std::string what = "read memory of pid " + std::to_string(id.pid);
  if (auto may = may_read(id.pid, what); !may) return may.error();
  auto reader = take_reader();
  if (!reader) return std::move(reader).error();
  auto memory = std::make_unique<RemoteMemory>(*this, std::move(*reader), id.pid);
  if (auto opened = memory->open(id, what); !opened) return opened.error();
  return std::unique_ptr<Memory>(std::move(memory));
}

Result<std::string> ReaderPool::text(pid_t pid, const std::string& path, std::size_t limit) {
  auto answer =
      ask({{ReaderOp::text, 0, limit, 0}, path, -1, kMemoryPatience}, pid, "read " + path);
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
    auto answer = ask({{ReaderOp::statuses}, payload}, pid, what);
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
  auto answer = ask({{ReaderOp::open, 0, static_cast<std::uint64_t>(pid), 0}, path}, pid, what);
  if (!answer) return std::move(answer).error();
  if (!answer->fd) return no_answer(what);
  return std::move(answer->fd);
}

Result<elf::ElfSymbols> ReaderPool::symbols(pid_t pid, int fd, const std::string& path) {
  const std::string what = "read symbols of " + path;
  auto answer = ask_of_file({{ReaderOp::symbols}, path, fd}, pid, what);
  if (!answer) return std::move(answer).error();
  auto symbols = elf::ElfSymbols::unpacked(answer->bytes);
  if (!symbols) return no_answer(what);
  return std::move(*symbols);
}

Result<std::string> ReaderPool::base_version(pid_t pid, int fd,
                                             std::span<const elf::LoadSegment> segments) {
  auto answer = ask_of_file({{ReaderOp::base_version}, bytes_of(segments), fd}, pid,
                            "search a file for the version of EPICS Base");
  if (!answer) return std::move(answer).error();
  return std::move(answer->bytes);
}

Result<elf::FoundFunctions> ReaderPool::functions(pid_t pid, int fd, const std::string& path,
                                                  std::span<const elf::FunctionWish> wishes) {
  const std::string what = "find functions in " + path;
  auto answer = ask_of_file({{ReaderOp::functions}, elf::packed(wishes), fd}, pid, what);
  if (!answer) return std::move(answer).error();
  auto found = elf::unpacked_functions(answer->bytes);
  if (!found) return no_answer(what);
  return std::move(*found);
}

ReaderSample ReaderPool::sample() {
  const std::scoped_lock lock(mutex_);
  sample_.unwatched = pauses_.paused(Clock::now());
  return sample_;
}

}  // namespace ioc_exporter::iocs
