#include "iocs/memory/memory.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>

#include "base/process_stats.h"
#include "iocs/find/process_stat.h"

namespace ioc_exporter::iocs {
namespace {

constexpr std::size_t kMostVectors = 1024;  // UIO_MAXIOV, linux/uio.h
constexpr int kMostThreads = 3;             // that are asked, when they end meanwhile
// Higher addresses belong to the kernel.
constexpr std::uint64_t kHighest = std::numeric_limits<std::int64_t>::max();

}  // namespace

std::string hex_address(std::uint64_t address) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return text;
}

bool is_pointer(std::uint64_t address) {
  return address != 0 && address % alignof(void*) == 0;
}

Result<std::size_t> Memory::gather(std::span<const std::uint64_t> addresses, std::size_t size,
                                   std::span<std::byte> into) {
  std::size_t done = 0;
  for (const std::uint64_t address : addresses) {
    auto read_all = read(address, into.subspan(done * size, size));
    if (!read_all && done == 0) return std::move(read_all).error();
    if (!read_all) break;
    ++done;
  }
  return done;
}

Result<void> Memory::read(std::uint64_t address, std::span<std::byte> into) {
  while (!into.empty()) {
    auto got = read_some(address, into);
    if (!got) return std::move(got).error();
    address += *got;
    into = into.subspan(*got);
  }
  return {};
}

bool has_memory(int pagemap) {
  char byte;
  return ::pread(pagemap, &byte, 1, 0) < 0 && errno == EINVAL;
}

Result<std::unique_ptr<ProcMemory>> ProcMemory::open(const RootedFs& fs, const IocId& id) {
  constexpr const char* kFile = "/pagemap";
  const std::string path = folder_of_thread(id.pid, id.pid) + kFile;
  pid_t thread = 0;
  auto fd = through_thread(fs, id.pid, [&](pid_t one) -> Result<UniqueFd> {
    thread = one;
    auto opened = fs.open(folder_of_thread(id.pid, one) + kFile, O_RDONLY);
    // Of a thread that has ended, older kernels open it all the same (Linux 6.1 does).
    if (char byte; opened && ::pread(opened->get(), &byte, 1, 0) == 0)
      return error_from_errno(ESRCH, "open " + fs.path(folder_of_thread(id.pid, one) + kFile));
    return opened;
  });
  if (!fd) return std::move(fd).error();
  // Opened first, then checked: what is checked here is what the descriptor leads to, unless the
  // process ended in between, and then reads find nothing.
  const auto stat = read_process_stat(fs, id.pid);
  if (!stat || stat->id != id)
    return error_in_words("open " + fs.path(path) + ": the process has ended");
  return std::unique_ptr<ProcMemory>(new ProcMemory(fs, std::move(*fd), id.pid, thread));
}

bool ProcMemory::is_there() const {
  return has_memory(fd_.get());
}

bool ProcMemory::choose_thread() {
  const auto other = is_there() ? find_live_thread(fs_, pid_) : std::nullopt;
  if (other) thread_ = *other;
  return other.has_value();
}

// As process_vm_readv(2). The number of the main thread is the process' until all have ended; that
// of another thread may be given out again, so the process must have it still afterwards.
ssize_t ProcMemory::copy(const iovec& to, std::span<const iovec> from) {
  for (int tries = 0;;) {
    const ssize_t got = ::process_vm_readv(thread_, &to, 1, from.data(), from.size(), 0);
    const int why = errno;
    if (got < 0 && why == EINTR) continue;
    struct stat status {};
    const bool is_its =
        thread_ == pid_ || ::stat(fs_.path(folder_of_thread(pid_, thread_)).c_str(), &status) == 0;
    const bool has_ended = !is_its || (got < 0 && why == ESRCH);
    if (has_ended && ++tries < kMostThreads && choose_thread()) continue;
    errno = is_its ? why : ESRCH;
    return is_its ? got : -1;
  }
}

Result<std::size_t> ProcMemory::read_some(std::uint64_t address, std::span<std::byte> into) {
  if (into.empty()) return std::size_t{0};
  const auto what = [&] {
    return "read memory at " + hex_address(address) + " (pid " + std::to_string(pid_) + ")";
  };
  if (address > kHighest - into.size()) return error_in_words(what() + ": no address of a process");
  const iovec from{reinterpret_cast<void*>(address), into.size()}, to{into.data(), into.size()};
  const ssize_t got = copy(to, std::span(&from, 1));
  const int why = errno;
  // The pid led to our process if that is still there with the same memory.
  if (!is_there()) return error_in_words(what() + ": the process has ended");
  if (got > 0) return static_cast<std::size_t>(got);
  if (got == 0 || why == EFAULT || why == EIO) return error_in_words(what() + ": not mapped");
  return error_from_errno(why, what());
}

Result<std::size_t> ProcMemory::gather(std::span<const std::uint64_t> addresses, std::size_t size,
                                       std::span<std::byte> into) {
  addresses = addresses.first(std::min(addresses.size(), kMostVectors));
  if (addresses.empty()) return std::size_t{0};
  std::array<iovec, kMostVectors> pieces;
  for (std::size_t i = 0; i < addresses.size(); ++i)
    pieces[i] = {reinterpret_cast<void*>(addresses[i]), size};
  const iovec to{into.data(), addresses.size() * size};
  const ssize_t got = copy(to, std::span(pieces).first(addresses.size()));
  // Not mapped, or not allowed: what reads one by one knows, and says so.
  if (got < static_cast<ssize_t>(size)) return Memory::gather(addresses, size, into);
  if (!is_there())
    return error_in_words("read memory at " + hex_address(addresses[0]) + " (pid " +
                          std::to_string(pid_) + "): the process has ended");
  return static_cast<std::size_t>(got) / size;
}

CachedMemory::CachedMemory(Memory& memory)
    : memory_(memory), slots_(std::make_unique_for_overwrite<std::array<Slot, kSlots>>()) {}

Result<std::size_t> CachedMemory::read_some(std::uint64_t address, std::span<std::byte> into) {
  if (into.empty()) return std::size_t{0};
  Slot& slot = (*slots_)[address / kBlock % kSlots];
  if (!slot.holds(address)) {
    auto filled = fill(slot, address);
    if (!filled) return std::move(filled).error();
  }
  const std::size_t offset = address - slot.start;
  const std::size_t size = std::min(into.size(), slot.size - offset);
  std::memcpy(into.data(), slot.bytes.data() + offset, size);
  return size;
}

Result<void> CachedMemory::fill(Slot& slot, std::uint64_t address) {
  slot.size = 0;
  slot.start = address - address % kBlock;
  if (const auto got = memory_.read_some(slot.start, slot.bytes)) slot.size = *got;
  if (slot.holds(address)) return {};
  // The block is not mapped from its start to here: begin at this address' own page, which is
  // mapped as a whole or not at all.
  slot.start = address - address % kPage;
  slot.size = 0;
  const std::size_t room = kBlock - slot.start % kBlock;
  if (const auto got = memory_.read_some(slot.start, std::span(slot.bytes).first(room)))
    slot.size = *got;
  if (slot.holds(address)) return {};
  // Asked once more for the error that names this address.
  auto exact = memory_.read_some(address, std::span(slot.bytes).first(1));
  if (!exact) return std::move(exact).error();
  return error_in_words("read memory at " + hex_address(address) + ": it is being mapped");
}

}  // namespace ioc_exporter::iocs
