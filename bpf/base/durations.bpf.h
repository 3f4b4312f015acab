/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Durations of puts, scans and completions: a sum and a histogram (shared/histogram.h). */
#ifndef IOC_EXPORTER_BPF_BASE_DURATIONS_H
#define IOC_EXPORTER_BPF_BASE_DURATIONS_H

#include "shared/histogram.h"

/*
 * One duration that stands for `weight` of them. `buckets` has IOCX_PUT_HIST_SLOTS elements. No atomics: one program at a
 * time writes to them.
 */
static __always_inline void add_durations(__u64 *sum_ns, __u64 *buckets, __u64 ns, __u32 weight)
{
	const __u32 slot = iocx_put_hist_slot(ns);

	if (slot < IOCX_PUT_HIST_SLOTS)
		buckets[slot] += weight;
	*sum_ns += ns * weight;
}

static __always_inline void add_duration(__u64 *sum_ns, __u64 *buckets, __u64 ns)
{
	add_durations(sum_ns, buckets, ns, 1);
}

#endif
