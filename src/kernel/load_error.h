// Why a probe could not be loaded, for operators.
#pragma once

#include <string>

#include "base/result.h"
#include "base/rooted_fs.h"

namespace ioc_exporter::kernel {

// Its message, with what libbpf does not think of: a capability that is missing, a kernel that is
// locked down.
std::string explain_load_error(const Error& error, const RootedFs& fs = RootedFs());

// For want of a right.
bool is_refused(const Error& error);

// Whether the kernel has BTF, which programs that read its structs need (CO-RE).
bool has_btf();

}  // namespace ioc_exporter::kernel
