// Which part of an IOC a thread is, by its name.
#pragma once

#include <string_view>

#include "iocs/health/health_samples.h"

namespace ioc_exporter::iocs {

// `comm` as the kernel has it, at most 15 bytes without the newline. Not for the first thread of a
// process, which is ThreadClass::main under any name.
ThreadClass thread_class_of(std::string_view comm);

}  // namespace ioc_exporter::iocs
