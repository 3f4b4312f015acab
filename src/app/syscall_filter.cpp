#include "app/syscall_filter.h"

#include <fcntl.h>

#include <utility>

namespace ioc_exporter::app {

void SyscallFilter::allow_reading() {
  constexpr auto kWriting = static_cast<unsigned>(O_ACCMODE | O_CREAT | O_TRUNC);
  allow("open", {has_none_of(1, kWriting)});
  allow("openat", {has_none_of(2, kWriting)});
}

void SyscallFilter::add(std::uint32_t action, const char* call,
                        const std::vector<scmp_arg_cmp>& when) {
  if (!filter_ || problem_ != 0) return;
  const int number = seccomp_syscall_resolve_name(call);
  if (number == __NR_SCMP_ERROR) return;
  const int result = seccomp_rule_add_array(filter_.get(), action, number,
                                            static_cast<unsigned>(when.size()), when.data());
  if (result < 0 && result != -EDOM) problem_ = -result;
  if (problem_ != 0) problem_call_ = call;
}

Result<void> SyscallFilter::load() {
  const std::string action = "make a filter of system calls";
  if (!filter_) return error_in_words(action + ": no memory");
  if (problem_ != 0) return error_from_errno(problem_, action + ": " + problem_call_);
  // All threads, those of libraries included; a tree instead of a list; and none of the slowness
  // that older kernels give to every filtered process (spec_store_bypass_disable=seccomp).
  for (const auto& [attribute, value] :
       {std::pair{SCMP_FLTATR_CTL_TSYNC, 1u}, std::pair{SCMP_FLTATR_CTL_SSB, 1u},
        std::pair{SCMP_FLTATR_CTL_OPTIMIZE, 2u}})
    if (const int result = seccomp_attr_set(filter_.get(), attribute, value); result < 0)
      return error_from_errno(-result, action);
  if (const int result = seccomp_load(filter_.get()); result < 0)
    return error_from_errno(-result, "load the filter of system calls");
  return {};
}

}  // namespace ioc_exporter::app
