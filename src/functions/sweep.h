// Frees entries in the maps of bpf/functions that ended processes leave, and gives their places
// back.
#pragma once

#include <cstdint>
#include <set>

#include "base/result.h"
#include "functions/functions_object.h"

namespace ioc_exporter::functions {

// Threads, keys and pointers of processes and epochs besides these.
Result<void> sweep(const FunctionMaps& maps, const std::set<std::uint32_t>& processes,
                   const std::set<std::uint32_t>& epochs);

}  // namespace ioc_exporter::functions
