// A child process that does nothing but call a small function when it is told, as an IOC calls
// dbProcess: with the address of a record. Ends with its owner.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "records/process.h"

namespace ioc_exporter::records {

class HitTarget {
 public:
  static constexpr std::uint32_t kRecords = 64;  // that it calls the function for, in turn

  // A system call that the child is killed for.
  static constexpr long kNoneForbidden = -1;
  // Forks: to be called while the process has one thread.
  static Result<HitTarget> start(long forbidden = kNoneForbidden);
  HitTarget(HitTarget&&) noexcept;
  HitTarget& operator=(HitTarget&&) = delete;
  ~HitTarget();

  // What probes need to know: the function in the file of this program, where it ends, and records
  // that process.
  Result<RecordTarget> target() const;
  // Seconds of CPU time that one call takes on average over `calls` of them.
  Result<double> call(std::uint32_t calls);

 private:
  HitTarget(pid_t pid, UniqueFd to_child, UniqueFd from_child, std::uint64_t offset);

  pid_t pid_;
  UniqueFd to_child_, from_child_;
  std::uint64_t offset_;  // of the function, in the file
};

}  // namespace ioc_exporter::records
