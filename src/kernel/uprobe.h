// One uprobe that runs a BPF program, by perf_event_open(2): as libbpf does it, but all of it is
// one descriptor, which can be handed to another process.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace ioc_exporter::kernel {

struct UprobePlace {
  std::string path;  // of the file
  std::uint64_t offset = 0;
  std::int32_t pid = -1;  // -1: every process
};

// "function in file (pid 8)": where a uprobe goes, for messages; a process of 0 or less: all.
std::string uprobe_text(const std::string& function, const std::string& file, std::int32_t pid);

// Errno of a failed attachment, in words.
Error uprobe_error(const UprobePlace& place, const std::string& function);

// Detached when the descriptor is closed, wherever it is. `function` is for the error.
Result<UniqueFd> attach_uprobe(int program_fd, const UprobePlace& place,
                               const std::string& function);

}  // namespace ioc_exporter::kernel
