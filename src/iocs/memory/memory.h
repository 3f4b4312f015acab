// Memory: bytes of another process, by its addresses. Only ever read.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include "base/result.h"
#include "base/rooted_fs.h"
#include "iocs/ioc_id.h"

namespace ioc_exporter::iocs {

class Memory {
 public:
  virtual ~Memory() = default;

  // Reads from `address` on, as far as it is mapped: at least one byte, at most into.size(). An
  // error when not even the first byte can be read.
  virtual Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> into) = 0;

  // `size` bytes from each of `addresses`, one after the other into `into`. How many of the
  // addresses were read, at least one: an error that names the first when that cannot be read.
  virtual Result<std::size_t> gather(std::span<const std::uint64_t> addresses, std::size_t size,
                                     std::span<std::byte> into);

  // All of `into`, or an error that names the address.
  Result<void> read(std::uint64_t address, std::span<std::byte> into);

  // A value of the reader's own byte order and layout: the IOC runs on the same machine.
  template <class T>
  Result<T> value(std::uint64_t address) {
    static_assert(std::is_trivially_copyable_v<T>);
    T out;
    auto done = read(address, std::as_writable_bytes(std::span<T, 1>(&out, 1)));
    if (!done) return std::move(done).error();
    return out;
  }
};

// "0x7f12...", for messages.
std::string hex_address(std::uint64_t address);

// Whether it may be the address of a struct.
bool is_pointer(std::uint64_t address);

// Another process' memory by process_vm_readv(2), which lets go of that memory's lock before it
// waits for a page, so that nobody else waits as well: not the process' own threads, not the kernel
// that takes off probes. (A read of /proc/PID/mem holds it, Linux 6.18: with a page of a FUSE file
// that is never read, even a fork() of the process waits.) The reader itself may wait for ever.
//
// An open file of /proc says whether the process still has the memory that it had: after its end,
// or an exec, reads fail; another process with the same pid is never read. Needs the right to trace
// the process (CAP_SYS_PTRACE). The file keeps no page of it alive.
// When the main thread has ended, another that lives is asked.
class ProcMemory : public Memory {
 public:
  // Fails when the process is not the one that `id` names.
  static Result<std::unique_ptr<ProcMemory>> open(const RootedFs& fs, const IocId& id);

  Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> into) override;
  // In one system call.
  Result<std::size_t> gather(std::span<const std::uint64_t> addresses, std::size_t size,
                             std::span<std::byte> into) override;

 private:
  ProcMemory(RootedFs fs, UniqueFd fd, pid_t pid, pid_t thread)
      : fs_(std::move(fs)), fd_(std::move(fd)), pid_(pid), thread_(thread) {}
  bool is_there() const;
  bool choose_thread();
  ssize_t copy(const iovec& to, std::span<const iovec> from);

  RootedFs fs_;
  UniqueFd fd_;  // /proc/PID/pagemap
  pid_t pid_;
  pid_t thread_;  // that is asked for it: the main one, or when that has ended another
};

// Whether the memory that an open /proc/PID/pagemap leads to still is a process'. Touches none of
// it and takes no lock: what is asked for is not aligned, which the kernel says of live memory only
// (pagemap_read(), fs/proc/task_mmu.c).
bool has_memory(int pagemap);

// CachedMemory: reads in blocks and keeps a few of them, so that following a list of 100,000 nodes
// does not take as many system calls. A picture of moments that are not the same: for one pass,
// then thrown away. Small on purpose: a list runs mostly forward through the IOC's heap, and a
// block that was left is read again in microseconds.
class CachedMemory : public Memory {
 public:
  static constexpr std::size_t kPage = 4096;    // the smallest unit of mapping of any Linux
  static constexpr std::size_t kBlock = 16384;  // bytes of one system call, where all are mapped
  static constexpr std::size_t kSlots = 64;

  explicit CachedMemory(Memory& memory);

  // Ends at the end of a block, or where the memory does.
  Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> into) override;

 private:
  struct Slot {
    std::uint64_t start = 0;
    std::size_t size = 0;  // bytes that are valid from `start` on
    std::array<std::byte, kBlock> bytes;

    bool holds(std::uint64_t address) const { return address >= start && address - start < size; }
  };

  Result<void> fill(Slot& slot, std::uint64_t address);

  Memory& memory_;
  std::unique_ptr<std::array<Slot, kSlots>> slots_;
};

}  // namespace ioc_exporter::iocs
