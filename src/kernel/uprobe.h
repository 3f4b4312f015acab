// One uprobe that runs a BPF program, by perf_event_open(2): as in libbpf, but the attachment is
// one descriptor, which can be handed to another process.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/helper.h"
#include "base/result.h"
#include "base/unique_fd.h"

struct bpf_object;
struct bpf_program;

namespace ioc_exporter::kernel {

// Attaching, done by a helper process that has the right to.

// The kernel takes some milliseconds; the operator's wish to detach waits for this long at most.
inline constexpr std::chrono::milliseconds kAttachPatience{1500};

// The attachment; `file` is the one that the request's offset is in.
inline Result<UniqueFd> ask_to_attach(Helper& helper, const HelperRequest& request, int file) {
  auto attached = helper.ask(request, file, kAttachPatience);
  if (attached && !*attached) return error_in_words("the helper process sent nothing");
  return attached;
}

// The error with the place. The helper knows the file by its descriptor only.
inline Error attach_error(const std::string& place, const Error& error) {
  const std::string action = "attach uprobe " + place;
  return {error.code, error.code ? action : action + ": " + error.context};
}

inline constexpr std::int32_t kAllProcesses = -1;

struct UprobePlace {
  std::string path;  // of the file
  std::uint64_t offset = 0;
  std::int32_t pid = kAllProcesses;
  bool at_return = false;  // a probe that the kernel moves to where the function returns to
};

// "function in file (pid 8)": where a uprobe goes, for messages; a process of 0 or less: all.
std::string uprobe_text(const std::string& function, const std::string& file, std::int32_t pid);

// Errno of a failed attachment, in words.
Error uprobe_error(const UprobePlace& place, const std::string& function);

// Detached when the descriptor is closed, wherever it is. `function` is for the error.
Result<UniqueFd> attach_uprobe(int program_fd, const UprobePlace& place,
                               const std::string& function);

// An empty program, attached as this kernel lets others be: the trap alone, to be measured.
Result<UniqueFd> attach_empty_uprobe(const UprobePlace& place);

// Uprobes that are BPF links of their own (Linux 6.6). Debian's libbpf has no call for them.
//
// Links that end at the same time wait together for the kernel's grace period, where probes of perf
// events wait one after the other, each 0.1 s and more (seen on Linux 6.18).

// The running kernel's BPF_TRACE_UPROBE_MULTI, from its BTF. Nothing before Linux 6.13, which is
// told by BPF_TRACE_UPROBE_SESSION: before 6.10 a link for a process sees one of its threads only
// ("bpf: fix multi-uprobe PID filtering logic").
using UprobeLinkType = std::optional<std::uint32_t>;
const UprobeLinkType& uprobe_link_type();

// Descriptor of the program with that name in a loaded object.
Result<int> program_fd(const bpf_object* object, const char* name);

// Before it is loaded: a program can be attached by this type only.
void set_attach_type(bpf_program* program, std::uint32_t attach_type);

// A program that has this attach type, at each of `offsets` in the file of `place`; it is told
// `cookie` by bpf_get_attach_cookie(). One without: by a perf event, at the offset of `place`
// alone. `function` is for the error. Detached when the descriptor is closed, wherever it is.
Result<UniqueFd> attach_uprobes(int program_fd, const UprobeLinkType& type,
                                const UprobePlace& place, std::span<const std::uint64_t> offsets,
                                const std::string& function, std::uint64_t cookie = 0);

// Ends many attachments at the same time: whoever takes a uprobe off waits in the kernel until no
// CPU can be in it, some tens of milliseconds each. Links of uprobes then wait together (above);
// those of one perf event each still wait in turn. 20 of one file took 0.08 s and 1.6 s
// (Linux 6.18).

inline constexpr std::size_t kMostTogether = 64;  // threads

// work(0) to work(count - 1), on as many threads.
template <class Work>
void run_together(std::size_t count, const Work& work) {
  std::atomic<std::size_t> next{0};
  const auto some = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::jthread> helpers;
  try {
    while (helpers.size() + 1 < std::min(count, kMostTogether)) helpers.emplace_back(some);
  } catch (const std::exception&) {  // no more threads: then with those that there are
  }
  some();
}

template <class Attachment>
void take_off_together(std::vector<Attachment> all) {
  run_together(all.size(), [&all](std::size_t i) { const Attachment gone(std::move(all[i])); });
}

}  // namespace ioc_exporter::kernel
