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
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 2 * IOCX_MAX_IOCS);
	__type(key, __u32);
	__type(value, __u64); /* shared/ring_shares.h */
} trace_shares SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32); /* as in record_threads */
	__type(value, struct iocx_trace_thread);
} trace_threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOCX_MAX_IOCS);
	__type(key, __u32); /* slot */
	__type(value, struct iocx_trace_config);
} trace_config SEC(".maps");

/* The earliest moment of the next chain that the rate chooses, without a burst (shared/traces.h, burst_ns). */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOCX_MAX_IOCS);
	__type(key, __u32); /* slot */
	__type(value, __u64);
} trace_tokens SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IOCX_TRACE_WISHES);
	__type(key, struct iocx_trace_wish_key);
	__type(value, struct iocx_trace_wish);
} trace_wishes SEC(".maps");

/* Of IOCs that have ended, the oldest make room. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, IOCX_TRACE_PENDING);
	__type(key, struct iocx_trace_wish_key);
	__type(value, struct iocx_trace_pending);
} trace_pending SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, IOCX_TRACE_COUNTS);
	__type(key, __u32); /* enum iocx_trace_drop, IOCX_TRACE_SENT */
	__type(value, __u64);
} trace_counts SEC(".maps");

#endif
