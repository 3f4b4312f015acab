// Samples of one IOC's process from /proc. Plain data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace ioc_exporter {

// By thread name, as EPICS Base sets them since 3.15.0.1, pvAccessCPP and pvxs.
enum class ThreadClass {
  scan,      // scan-PERIOD
  callback,  // cbLow, cbMedium, cbHigh, with -N when there are several
  once,      // scanOnce
  ca,        // CAS-*, CAC-*, dbCaLink: Channel Access, server and client
  pva,       // PVX*, TCP-*, UDP-*: PV Access
  main,      // the process' first thread, whatever it is called
  other,     // all others: drivers, sequencer, autosave, errlog, ...
};
inline constexpr std::size_t kThreadClasses = 7;

struct HealthSample {
  // CPU time since the process started, user and system.
  std::array<std::uint64_t, kThreadClasses> cpu_ns{};
  // Of threads that have ended, what they used after they were looked at last: the process' time
  // less all that is in `cpu_ns`.
  std::uint64_t ended_cpu_ns = 0;
  std::array<std::uint64_t, kThreadClasses> threads{};  // now
  std::uint64_t spinning = 0;                           // threads that never rest: ioc_health.h
  std::uint64_t resident_bytes = 0;
  std::optional<std::uint64_t> open_fds, max_fds;  // nothing: may not be read
};

}  // namespace ioc_exporter
