// Large blocks of memory that live for a moment: where the kernel makes them of huge pages, it has
// a few dozen to make and to take back, and not thousands. Page by page, that costs more than what
// is written to them.
#pragma once

#include <cstddef>

namespace ioc_exporter {

// Wishes huge pages for a block of malloc(3), which should not be written to yet. Smaller blocks
// than are worth it, and kernels that have none, are left as they are.
void prefer_huge_pages(void* block, std::size_t bytes);

}  // namespace ioc_exporter
