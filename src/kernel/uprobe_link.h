// Uprobes that are BPF links of their own (Linux 6.6). Debian's libbpf has no call for them.
//
// Links that end at the same time wait together for the kernel's grace period, where probes of perf
// events wait one after the other, each 0.1 s and more (seen on Linux 6.18).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "kernel/uprobe.h"

struct bpf_program;

namespace ioc_exporter::kernel {

// The running kernel's BPF_TRACE_UPROBE_MULTI, from its BTF. Nothing before Linux 6.13, which is
// told by BPF_TRACE_UPROBE_SESSION: before 6.10 a link for a process sees one of its threads only
// ("bpf: fix multi-uprobe PID filtering logic").
using UprobeLinkType = std::optional<std::uint32_t>;
const UprobeLinkType& uprobe_link_type();

// Before it is loaded: a program can be attached by this type only.
void set_attach_type(bpf_program* program, std::uint32_t attach_type);

// A program that has this attach type, at each of `offsets` in the file of `place`; it is told
// `cookie` by bpf_get_attach_cookie(). One without: by a perf event, at the offset of `place`
// alone. `function` is for the error. Detached when the descriptor is closed, wherever it is.
Result<UniqueFd> attach_uprobes(int program_fd, const UprobeLinkType& type,
                                const UprobePlace& place, std::span<const std::uint64_t> offsets,
                                const std::string& function, std::uint64_t cookie = 0);

}  // namespace ioc_exporter::kernel
