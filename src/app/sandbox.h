// Sandbox: a seccomp filter that allows the system calls which the running exporter makes, with the
// arguments that it uses, and no others. Besides the capabilities, it bounds what an exploited bug
// can do.
#pragma once

#include <seccomp.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace ioc_exporter::app {

// SyscallFilter: an allow-list of system calls (seccomp), in the making. What is not let through
// fails with EPERM.
class SyscallFilter {
 public:
  // `others`: the action for calls without a rule.
  explicit SyscallFilter(std::uint32_t others = SCMP_ACT_ERRNO(EPERM))
      : filter_(seccomp_init(others)) {}

  // Lets the call through when all conditions hold. Conditions see 64 bits: of an argument that the
  // kernel takes 32 bits of, none with others above is let through.
  void allow(const char* call, std::vector<scmp_arg_cmp> when = {}) {
    add(SCMP_ACT_ALLOW, call, when);
  }
  // Opening files to read them only.
  void allow_reading();
  void say_no_such_call(const char* call) { add(SCMP_ACT_ERRNO(ENOSYS), call, {}); }
  void refuse(const char* call) { add(SCMP_ACT_ERRNO(EPERM), call, {}); }

  // For all threads and for good.
  Result<void> load();

 private:
  struct Deleter {
    void operator()(void* filter) const { seccomp_release(filter); }
  };
  // Calls that this processor or libseccomp does not know are not allowed.
  void add(std::uint32_t action, const char* call, const std::vector<scmp_arg_cmp>& when);

  std::unique_ptr<void, Deleter> filter_;
  int problem_ = 0;
  std::string problem_call_;
};

// Conditions on an argument, counted from 0.
inline scmp_arg_cmp is(unsigned number, scmp_datum_t value) {
  return scmp_arg_cmp{number, SCMP_CMP_EQ, value, 0};
}
inline scmp_arg_cmp has_none_of(unsigned number, scmp_datum_t bits) {
  return scmp_arg_cmp{number, SCMP_CMP_MASKED_EQ, bits, 0};
}

struct SandboxOptions {
  // BPF programs may be loaded, and probes attached (perf_event_open, BPF links).
  bool probes = true;
  // Packet sockets may be opened.
  bool packets = true;
  // Readers may be forked: children that give up rights, enter a filter of their own, and are
  // killed.
  bool readers = false;
  // Files may be made, written to and renamed below these folders, as its user may; before Linux
  // 5.13, or without Landlock, also elsewhere.
  std::vector<std::string> folders = {};
  // Sockets may be bound and listen, until refuse_listening().
  bool listening = false;
};

// For all threads and for good. All else fails with EPERM: running a program, starting a process,
// writing to a file or to another process' memory, terminals, tracing, signals to others, mounts,
// modules, the clock, and what is not in the list of sandbox.cpp.
Result<void> enter_sandbox(const SandboxOptions& options = {});

// From now on no socket gets an address: no port is listened on, no socket file made.
Result<void> refuse_listening();

}  // namespace ioc_exporter::app
