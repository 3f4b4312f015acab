#include "base/same_inode.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <exception>
#include <thread>

namespace ioc_exporter {
namespace {

constexpr std::chrono::seconds kPatience{5};  // until a thread that was started waits
constexpr std::chrono::milliseconds kTimeToWake{200};

// A page of memory, of a file or of our own.
class Page {
 public:
  Page(int fd, std::uint64_t offset) {
    const auto size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    size_ = size;
    const bool own = fd < 0;
    void* const at = ::mmap(nullptr, size, own ? PROT_READ | PROT_WRITE : PROT_READ,
                            own ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED, fd,
                            static_cast<off_t>(offset - offset % size));
    if (at != MAP_FAILED) at_ = at;
  }
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;
  ~Page() {
    if (at_ != nullptr) ::munmap(at_, size_);
  }
  void* at() const { return at_; }

 private:
  std::size_t size_ = 0;
  void* at_ = nullptr;
};

long futex(void* at, int operation, unsigned value, std::uint64_t value2 = 0, void* to = nullptr) {
  return ::syscall(SYS_futex, at, operation, value, value2, to, 0);
}

// Threads in futex(2) on a shared page of a file are found by the page's inode, whichever mapping
// of it they came by (get_futex_key() in kernel/futex/core.c). A thread goes to sleep on a page of
// our own and is moved to the file's: so the file is never read by us, who would get a SIGBUS if
// it were cut meanwhile.
class Sleeper {
 public:
  Result<void> start() {
    if (own_.at() == nullptr) return last_error("map a page of memory");
    try {
      thread_ = std::thread([this] {
        while (over() == 0)
          if (futex(own_.at(), FUTEX_WAIT, 0) == 0) ++wakes_;
      });
    } catch (const std::exception&) {
      return error_in_words("start a thread: no more threads");
    }
    return {};
  }
  // False: it does not sleep yet.
  Result<bool> move_to(const Page& place) {
    const long moved = futex(own_.at(), FUTEX_REQUEUE, 0, 1, place.at());
    if (moved < 0) return last_error("wait on a page of a file");
    return moved > 0;
  }
  // Ends its sleep if it is there, and that of others, who are not taken for it.
  bool was_at(const Page& place) {
    const unsigned before = wakes_;
    if (place.at() == nullptr || futex(place.at(), FUTEX_WAKE, INT_MAX) <= 0) return false;
    const auto end = std::chrono::steady_clock::now() + kTimeToWake;
    while (wakes_ == before && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    return wakes_ != before;
  }
  void end(const Page& place) {
    if (!thread_.joinable()) return;
    over() = 1;
    futex(place.at(), FUTEX_WAKE, INT_MAX);
    futex(own_.at(), FUTEX_WAKE, INT_MAX);
    thread_.join();
  }

 private:
  std::atomic_ref<unsigned> over() { return std::atomic_ref(*static_cast<unsigned*>(own_.at())); }

  Page own_{-1, 0};
  std::atomic<unsigned> wakes_ = 0;
  std::thread thread_;
};

using Found = std::optional<std::size_t>;

// Where the kernel wakes a thread without a reason, that goes back to sleep where it did first.
// A page that is not found counts only if the thread stayed where it was moved until the end.
Result<Found> find(Sleeper& sleeper, const Page& page, std::span<const int> others,
                   std::uint64_t offset) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < end) {
    auto moved = sleeper.move_to(page);
    if (!moved) return std::move(moved).error();
    if (!*moved) {
      std::this_thread::yield();
      continue;
    }
    for (std::size_t i = 0; i < others.size(); ++i)
      if (sleeper.was_at(Page(others[i], offset))) return Found(i);
    if (sleeper.was_at(page)) return Found();
  }
  return error_in_words("wait on a page of a file: a thread did not come to it in time");
}

}  // namespace

Result<std::optional<std::size_t>> find_same_inode(int fd, std::span<const int> others,
                                                   std::uint64_t offset) {
  const Page page(fd, offset);
  if (page.at() == nullptr) return last_error("map a page of a file");
  Sleeper sleeper;
  if (auto started = sleeper.start(); !started) return started.error();
  auto found = find(sleeper, page, others, offset);
  sleeper.end(page);
  return found;
}

}  // namespace ioc_exporter
