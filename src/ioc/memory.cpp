#include "ioc/memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <limits>

#include "discovery/process_stat.h"

namespace ioc_exporter::ioc {

std::string hex_address(std::uint64_t address) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return text;
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

Result<std::unique_ptr<ProcMemory>> ProcMemory::open(const RootedFs& fs,
                                                     const discovery::IocId& id) {
  const std::string path = "/proc/" + std::to_string(id.pid) + "/mem";
  auto fd = fs.open(path, O_RDONLY);
  if (!fd) return std::move(fd).error();
  // Opened first, then checked: what is checked here is what the descriptor leads to, unless the
  // process ended in between, and then reads find nothing.
  const auto stat = discovery::read_process_stat(fs, id.pid);
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

}  // namespace ioc_exporter::ioc
