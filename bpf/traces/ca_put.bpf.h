/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* The put that a thread of rsrv does, for bpf/ca/witness.bpf.c. */
#ifndef IOC_EXPORTER_BPF_TRACES_CA_PUT_BPF_H
#define IOC_EXPORTER_BPF_TRACES_CA_PUT_BPF_H

#include "shared/trace_name.h"

/* The slot's PV as links call it. */
static __noinline int trace_name_channel(struct iocx_witness_info *info, __u32 by_db_addr)
{
	struct iocx_trace_name name = IOCX_TRACE_NAME_START;

	iocx_trace_name_add_text(&name, info->name, IOCX_TRACE_PV);
	if (by_db_addr) {
		iocx_trace_name_add(&name, '.');
		iocx_trace_name_add_text(&name, info->field, sizeof(info->field));
	}
	info->trace_name = iocx_trace_name_end(&name);
	return 0;
}

/* The put of a link that this one is, if it is sure. */
static __always_inline int take_send(struct iocx_trace_by_link *by, __u64 name, __u32 sid, __u32 generation)
{
	struct iocx_trace_sends_key where = {.name = name, .sid = sid};
	struct iocx_trace_sends *sends = bpf_map_lookup_elem(&trace_sends, &where);
	const struct iocx_trace_send *send;
	__u32 under_way, tail, trusted;
	struct iocx_trace_by_link found;
	__u64 now, waited;

	if (!sends)
		return 0;
	tail = sends->tail;
	if (sends->seen != sends->losses) {
		sends->seen = sends->losses;
		tail = sends->skip;
		sends->trust = 0;
	}
	if (sends->server != generation) {
		if (sends->server)
			sends->trust = 0;
		sends->server = generation;
	}
	under_way = sends->head - tail;
	trusted = sends->trust >= IOCX_TRACE_TRUSTED;
	send = &sends->sends[tail & (IOCX_TRACE_SENDS - 1)];
	now = bpf_ktime_get_ns();
	waited = now - send->time_ns;
	if (under_way <= 1)
		sends->busy_ns = 0;
	else if (!sends->busy_ns)
		sends->busy_ns = send->time_ns;
	if (under_way == 0 || (!trusted && under_way > 1) ||
	    (under_way <= IOCX_TRACE_SENDS && waited > IOCX_TRACE_LATE_NS) ||
	    (sends->busy_ns && now - sends->busy_ns > IOCX_TRACE_BUSY_NS)) {
		if (trusted)
			sends->unsure += 1;
		sends->tail = tail + under_way;
		sends->trust = 0;
		sends->busy_ns = 0;
		return 0;
	}
	sends->tail = tail + 1;
	if (!trusted) {
		if (waited < IOCX_TRACE_SOON_NS && send->gap_ns > IOCX_TRACE_APART_NS)
			sends->trust += 1;
		return 0;
	}
	found = send->by;
	if (sends->head - tail > IOCX_TRACE_SENDS)
		return 0; /* another one has its place */
	*by = found;
	return 0;
}

/* For the thread's chain that the put may begin. */
static __noinline int trace_put(const struct iocx_witness_channel *slot, __u32 index,
				const struct iocx_witness_key *key, __u64 now_and_op)
{
	const __u64 id = bpf_get_current_pid_tgid();
	struct iocx_trace_noted_put noted = {};
	struct iocx_trace_put *put = &noted.put;
	const struct iocx_witness_info *info;

	if (!key)
		return 0;
	put->time = now_and_op & ~1ULL;
	put->id = slot ? slot->id : 0;
	put->slot = index;
	put->generation = slot ? slot->key.generation : key->generation;
	put->sid = key->sid;
	__builtin_memcpy(put->address, key->address, sizeof put->address);
	put->port = key->port;
	put->op = now_and_op & 1;
	info = slot && slot->named ? bpf_map_lookup_elem(&witness_info, &index) : NULL;
	if (info && info->trace_name)
		take_send(&noted.link, info->trace_name, key->sid, put->generation);
	bpf_map_update_elem(&trace_puts, &id, &noted, BPF_ANY);
	return 0;
}

#endif
