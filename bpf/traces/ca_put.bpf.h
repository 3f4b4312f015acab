/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* The put that a thread of rsrv does, for bpf/puts/ca_server_probe.bpf.c. */
#ifndef IOC_EXPORTER_BPF_TRACES_CA_PUT_BPF_H
#define IOC_EXPORTER_BPF_TRACES_CA_PUT_BPF_H

/* For the thread's chain that the put may begin. */
static __noinline int trace_put(const struct iocx_server_slot *slot, __u32 index, const struct iocx_server_who *who,
				__u64 now_and_op)
{
	const __u64 id = bpf_get_current_pid_tgid();
	struct iocx_trace_put put = {};

	if (!who)
		return 0;
	put.time = now_and_op & ~1ULL;
	put.id = slot ? slot->id : 0;
	put.slot = index;
	put.generation = who->generation;
	put.sid = who->sid;
	__builtin_memcpy(put.address, who->address, sizeof(put.address));
	put.port = who->port;
	put.op = now_and_op & 1;
	bpf_map_update_elem(&trace_puts, &id, &put, BPF_ANY);
	return 0;
}

#endif
