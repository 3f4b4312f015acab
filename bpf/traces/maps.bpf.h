/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* The maps of traces in records/process.bpf.c. While traces are off, none of them is made. */
#ifndef IOC_EXPORTER_BPF_TRACES_MAPS_BPF_H
#define IOC_EXPORTER_BPF_TRACES_MAPS_BPF_H

#include "base/ring_shares.bpf.h"
#include "traces/puts.bpf.h"

/* The reader looks by itself every few milliseconds, and is woken when more than this waits for it. */
const volatile __u32 cfg_trace_wake;
const volatile __u32 cfg_trace_ring; /* its size */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} trace_events SEC(".maps");

/* Memory of IOCs in the ring, by their slots. */
MAPPED_ARRAY(trace_shares, 2 * IOCX_MAX_IOCS, __u64); /* shared/ring_shares.h */

MAP(trace_threads, ARRAY, 1, __u32, struct iocx_trace_thread); /* as in record_threads */

MAP(trace_config, ARRAY, IOCX_MAX_IOCS, __u32, struct iocx_trace_config); /* slot */

MAP(trace_lots, ARRAY, IOCX_MAX_IOCS, __u32, struct iocx_trace_lot); /* slot */

MAP(trace_wishes, HASH, IOCX_TRACE_WISHES, struct iocx_trace_wish_key, struct iocx_trace_wish);

/* Of IOCs that have ended, the oldest make room. */
MAP(trace_pending, LRU_HASH, IOCX_TRACE_PENDING, struct iocx_trace_wish_key, struct iocx_trace_pending);

MAP(trace_counts, PERCPU_ARRAY, IOCX_TRACE_COUNTS, __u32, __u64); /* enum iocx_trace_drop, IOCX_TRACE_SENT */

#endif
