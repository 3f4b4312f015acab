#include "iocs/memory.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>

#include "iocs/process_stat.h"

namespace ioc_exporter::iocs {
namespace {

constexpr std::size_t kMostPieces = 1024;  // UIO_MAXIOV, linux/uio.h

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

Result<std::unique_ptr<ProcMemory>> ProcMemory::open(const RootedFs& fs, const IocId& id) {
  const std::string path = "/proc/" + std::to_string(id.pid) + "/mem";
  auto fd = fs.open(path, O_RDONLY);
  if (!fd) return std::move(fd).error();
  // Opened first, then checked: what is checked here is what the descriptor leads to, unless the
  // process ended in between, and then reads find nothing.
  const auto stat = read_process_stat(fs, id.pid);
  if (!stat || stat->id != id)
    return error_in_words("open " + fs.path(path) + ": the process has ended");
  return std::unique_ptr<ProcMemory>(new ProcMemory(std::move(*fd), id.pid));
}

Result<std::size_t> ProcMemory::read_some(std::uint64_t address, std::span<std::byte> into) {
  if (into.empty()) return std::size_t{0};
  const auto what = [&] {
    return "read memory at " + hex_address(address) + " (pid " + std::to_string(pid_) + ")";
  };
  if (address > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max()) - into.size())
    return error_in_words(what() + ": no address of a process");
  for (;;) {
    const ssize_t got = ::pread(fd_.get(), into.data(), into.size(), static_cast<off_t>(address));
    if (got > 0) return static_cast<std::size_t>(got);
    if (got == 0) return error_in_words(what() + ": the process has ended");
    if (errno == EIO) return error_in_words(what() + ": not mapped");
    if (errno != EINTR) return last_error(what());
  }
}

Result<std::size_t> ProcMemory::gather(std::span<const std::uint64_t> addresses, std::size_t size,
                                       std::span<std::byte> into) {
  addresses = addresses.first(std::min(addresses.size(), kMostPieces));
  if (addresses.empty()) return std::size_t{0};
  std::array<iovec, kMostPieces> pieces;
  for (std::size_t i = 0; i < addresses.size(); ++i)
    pieces[i] = {reinterpret_cast<void*>(addresses[i]), size};
  const iovec to{into.data(), addresses.size() * size};
  const ssize_t got = ::process_vm_readv(pid_, &to, 1, pieces.data(), addresses.size(), 0);
  // Not mapped, not allowed, not in this kernel: what reads one by one knows, and says so.
  if (got < static_cast<ssize_t>(size)) return Memory::gather(addresses, size, into);
  // The pid led to our process if that is still there with the same memory.
  std::byte probe;
  auto there = read_some(addresses[0], std::span(&probe, 1));
  if (!there) return std::move(there).error();
  return static_cast<std::size_t>(got) / size;
}

}  // namespace ioc_exporter::iocs
