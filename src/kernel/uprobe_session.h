// Uprobe session links (Linux 6.13): one program at a function's entry and return, which tells at
// each entry whether it wants the return. Debian's libbpf has no call for them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace ioc_exporter::kernel {

// The running kernel's number of BPF_TRACE_UPROBE_SESSION, from its BTF; nothing when it has none.
std::optional<std::uint32_t> uprobe_session_type();

// Attaches to the code at `offset` bytes in the file at `path`; pid 0 is every process. `function`
// is for the error. Detached when the descriptor is closed.
Result<UniqueFd> attach_uprobe_session(int program_fd, std::uint32_t attach_type,
                                       const std::string& function, const std::string& path,
                                       std::uint64_t offset, std::int32_t pid);

}  // namespace ioc_exporter::kernel
