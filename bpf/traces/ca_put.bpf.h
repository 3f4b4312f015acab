/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* The put that a thread of rsrv or a client inside the IOC does, for bpf/puts/ca_server_probe.bpf.c. */
#ifndef IOC_EXPORTER_BPF_TRACES_CA_PUT_BPF_H
#define IOC_EXPORTER_BPF_TRACES_CA_PUT_BPF_H

/* For the thread's chain that the put may begin. `sp`: 0, or at the entry of a write inside the IOC, whose `who` may be NULL. */
static __noinline int trace_put(const struct iocx_server_slot *slot, __u32 index, const struct iocx_server_who *who,
				__u64 now_and_op, __u64 sp)
{
	const __u64 thread = bpf_get_current_pid_tgid(), id = sp ? IOCX_TRACE_PUT_INSIDE(thread) : thread;
	struct iocx_trace_put put = {.sp = (__u32)sp};

	if (!who)
		return (int)bpf_map_delete_elem(&trace_puts, &id);
	put.time = now_and_op & ~1ULL;
	put.id = slot ? slot->id : 0;
	put.slot = index;
	put.generation = who->generation;
	put.sid = who->sid;
	__builtin_memcpy(put.address, who->address, sizeof(put.address));
	put.port = who->port;
	put.op = now_and_op & 1;
	put.waits = put.op && slot && slot->reports_results;
	bpf_map_update_elem(&trace_puts, &id, &put, BPF_ANY);
	return 0;
}

/* The put with callback of that time and slot is done, or given up: `id` says when. */
static __noinline int trace_put_ended(__u32 index, __u64 time)
{
	const __u64 key = IOCX_TRACE_PUT_END(time);
	struct iocx_trace_put put = {.time = time, .id = bpf_ktime_get_ns(), .slot = index};

	return cfg_traces ? bpf_map_update_elem(&trace_puts, &key, &put, BPF_ANY) : 0;
}

#endif
