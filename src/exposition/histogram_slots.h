// The kernel's histograms (bpf/shared/histogram.h) as C++ constants. Slot i holds durations
// of at most 2^((first + i) / 4) seconds; the last slot holds longer ones.
#pragma once

#include <cstddef>

#include "shared/histogram.h"

namespace ioc_exporter {

inline constexpr std::size_t kHistogramSlots = IOCX_HIST_SLOTS;
inline constexpr int kHistogramFirstK = IOCX_HIST_FIRST_K;
inline constexpr int kHistogramLastK = IOCX_HIST_LAST_K;
inline constexpr std::size_t kPutHistogramSlots = IOCX_PUT_HIST_SLOTS;
inline constexpr int kPutHistogramFirstK = IOCX_PUT_HIST_FIRST_K;
inline constexpr int kPutHistogramLastK = IOCX_PUT_HIST_LAST_K;

}  // namespace ioc_exporter
