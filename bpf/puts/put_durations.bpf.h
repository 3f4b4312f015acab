/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Durations of puts by slot. Atomic: two connections of one client by PV Access share a slot. */
#ifndef IOC_EXPORTER_BPF_PUTS_PUT_DURATIONS_BPF_H
#define IOC_EXPORTER_BPF_PUTS_PUT_DURATIONS_BPF_H

#include "shared/histogram.h"

/* As many as there are slots, so that it is never full; most slots have none. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u32); /* slot */
	__type(value, struct iocx_server_durations);
} slot_durations SEC(".maps");

static const struct iocx_server_durations no_durations;

static __noinline int add_put_duration(__u32 index, __u64 since_ns)
{
	const __u64 ns = bpf_ktime_get_ns() - since_ns;
	const __u32 bucket = iocx_put_hist_slot(ns);
	struct iocx_server_durations *durations = bpf_map_lookup_elem(&slot_durations, &index);

	if (!durations) {
		bpf_map_update_elem(&slot_durations, &index, &no_durations, BPF_NOEXIST);
		durations = bpf_map_lookup_elem(&slot_durations, &index);
	}
	if (!durations) {
		add_to_counter(&server_drops, IOCX_SERVER_DROP_FULL, 1);
		return 0;
	}
	if (bucket < IOCX_PUT_HIST_SLOTS)
		__sync_fetch_and_add(&durations->buckets[bucket], 1);
	__sync_fetch_and_add(&durations->sum_ns, ns);
	return 0;
}

#endif
