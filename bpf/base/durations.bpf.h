/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Durations of puts, scans and completions: a sum and a histogram (shared/histogram.h). */
#ifndef IOC_EXPORTER_BPF_BASE_DURATIONS_H
#define IOC_EXPORTER_BPF_BASE_DURATIONS_H

#include "shared/histogram.h"

/* `buckets` has IOCX_PUT_HIST_SLOTS elements. No atomics: one program at a time writes to them. */
static __always_inline void add_duration(__u64 *sum_ns, __u64 *buckets, __u64 ns)
{
	const __u32 slot = iocx_put_hist_slot(ns);

	if (slot < IOCX_PUT_HIST_SLOTS)
		buckets[slot] += 1;
	*sum_ns += ns;
}

#endif
