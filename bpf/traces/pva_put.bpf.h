/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* The put that a thread of QSRV does, for bpf/puts/pva_server_probe.bpf.c. */
#ifndef IOC_EXPORTER_BPF_TRACES_PVA_PUT_BPF_H
#define IOC_EXPORTER_BPF_TRACES_PVA_PUT_BPF_H

/* Zeroes, to copy for a thread's first put. Never written. */
MAP(zero_trace_put, ARRAY, 1, __u32, struct iocx_trace_pva_put);

/* For the thread's chain that the put may begin. The value is too large for the stack: the key goes into one that is there. */
static __noinline int trace_pva_put(const struct iocx_pva_key *key)
{
	const __u64 id = bpf_get_current_pid_tgid();
	struct iocx_trace_pva_put *put = bpf_map_lookup_elem(&trace_pva_puts, &id);
	const void *none = only_element(&zero_trace_put);

	if (!put && none)
		put = add_entry(&trace_pva_puts, &id, none);
	if (!put)
		return 0;
	put->kind = IOCX_TRACE_PVA_PUT;
	put->time = bpf_ktime_get_ns();
	bpf_probe_read_kernel(&put->key, sizeof put->key, key);
	return 0;
}

#endif
