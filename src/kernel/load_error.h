// Why a probe could not be loaded, for operators.
#pragma once

#include <string>

#include "base/result.h"

namespace ioc_exporter::kernel {

// libbpf's explanation of a refusal is about kernels without BPF; nearly always we are not root.
std::string explain_load_error(const std::string& probe, const Error& error);

// Whether the kernel describes its types (BTF), which programs that read its structs need (CO-RE).
bool has_btf();

}  // namespace ioc_exporter::kernel
