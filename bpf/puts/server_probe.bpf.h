/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Slots that count the puts of a server: common part of the probes of CA and PV Access. An object that includes this has
 * defined the key of its slots (SERVER_KEY), and the facts of each for user space (SERVER_INFO, which begins with the
 * key).
 */
#ifndef IOC_EXPORTER_BPF_PUTS_SERVER_PROBE_BPF_H
#define IOC_EXPORTER_BPF_PUTS_SERVER_PROBE_BPF_H

#include "base/attach.bpf.h"
#include "base/maps.bpf.h"
#include "shared/server_probe.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IOCX_SERVER_IOCS);
	__type(key, __u32); /* process id, in the initial namespace */
	__type(value, struct iocx_server_ioc);
} server_iocs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, SERVER_KEY);
	__type(value, __u32); /* slot */
} slot_by_key SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32); /* slot */
	__type(value, struct iocx_server_slot);
} server_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32); /* slot */
	__type(value, SERVER_INFO);
} slot_info SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32); /* slot */
	__type(value, struct iocx_server_result);
} slot_results SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1);
	__type(value, __u32); /* slot */
} free_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IOCX_SERVER_IOCS);
	__type(key, __u32); /* generation */
	__type(value, struct iocx_server_remainder);
} puts_remainder SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SERVER_DROPS);
	__type(key, __u32);
	__type(value, __u64);
} server_drops SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, IOCX_SERVER_HELD);
	__type(key, __u32);
	__type(value, __u64);
} slots_held SEC(".maps");

const volatile __u32 cfg_slots;

struct channel_address { /* struct dbAddr */
	__u64 record;
	__u64 field;
	__u64 description;
	__s64 elements;
	__s16 field_type;
	__s16 field_size;
	__s16 special;
	__s16 dbr_field_type;
};
#define FIELD_NAME 8 /* dbFldDes.name */

static __always_inline int read_at(void *to, __u32 size, __u64 address)
{
	return bpf_probe_read_user(to, size, (const void *)(unsigned long)address);
}

static __always_inline const struct iocx_server_ioc *current_ioc(void)
{
	const __u32 tgid = bpf_get_current_pid_tgid() >> 32;

	return bpf_map_lookup_elem(&server_iocs, &tgid);
}

/* 1: there are attachments for all processes. Else all that run are for the process, and most puts need no look at it. */
volatile __u32 has_all;

/* By thread: IOCX_LEFT_BY() when that attachment's program has left its last hit to the other one's; else 0. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u32);
} hits_left SEC(".maps");

/*
 * Whether the attachment that runs the program is the one that counts in this IOC. While one kind replaces the other the
 * newer one's program is the first to see a hit (consumer_add() in kernel/events/uprobes.c). When user space, between the
 * two, lets the newer one count from now on, the second counts what the first has left to it. After that the second
 * program leaves a mark, too, which must not be taken for one of a later switch: user space raises `switches`.
 */
static __noinline int counts(struct pt_regs *ctx, __u8 attach)
{
	const __u32 tid = (__u32)bpf_get_current_pid_tgid();
	const struct iocx_server_ioc *ioc;
	__u32 *left, mark, life;
	__u8 kind;

	kind = kind_of_attachment(ctx, attach);
	ioc = current_ioc();
	if (!ioc)
		return 0;
	left = bpf_map_lookup_elem(&hits_left, &tid);
	life = ioc->generation << 8; /* a thread of another one had this number, or this one is counted anew */
	mark = life | IOCX_LEFT_BY(kind, ioc->switches);
	if (ioc->attach == kind || (left && *left == (life | IOCX_LEFT_BY(IOCX_OTHER_KIND(kind), ioc->switches)))) {
		if (left)
			*left = 0;
		return 1;
	}
	if (left)
		*left = mark;
	else
		bpf_map_update_elem(&hits_left, &tid, &mark, BPF_ANY);
	return 0;
}

#define PROGRAM(name)                                                          \
	static __always_inline int run_##name(struct pt_regs *ctx);            \
	static __always_inline int if_##name(struct pt_regs *ctx, __u8 attach) \
	{                                                                      \
		return !has_all || counts(ctx, attach) ? run_##name(ctx) : 0;  \
	}                                                                      \
	ENTRY_PROGRAM(name, if_##name)                                         \
	static __always_inline int run_##name(struct pt_regs *ctx)

/* When a put is seen, as in iocx_ca_channel. */
static __always_inline __u64 put_time(__u32 op)
{
	return (bpf_ktime_get_ns() & ~1ULL) | op;
}

/* The time is looked at once a tick: that takes longer than to count. */
static __always_inline void add_put(struct iocx_server_slot *slot, __u32 op)
{
	const __u64 jiffy = bpf_jiffies64();

	if (slot->jiffy != jiffy || (slot->last_put & 1) != op) {
		slot->jiffy = jiffy;
		slot->last_put = put_time(op); /* before it is counted: a look at the count has its time, too */
	}
	__sync_fetch_and_add(&slot->puts[op], 1);
}

static __always_inline void add_failure(__u64 *failures, __u32 failure)
{
	__u64 index = failure;

	IOCX_CA_OPAQUE(index); /* else another register is compared than is added */
	if (index < IOCX_FAILURES)
		__sync_fetch_and_add(&failures[index], 1);
}

/* A put without a slot. */
static __always_inline void count_remainder(const struct iocx_server_ioc *ioc, __u32 op, __u32 reason)
{
	struct iocx_server_remainder *remainder = bpf_map_lookup_elem(&puts_remainder, &ioc->generation);

	add_to_counter(&server_drops, reason, 1);
	if (!remainder)
		return;
	__sync_fetch_and_add(&remainder->puts[op], 1);
	remainder->last_put = put_time(op);
}

static __always_inline void fail_remainder(const struct iocx_server_ioc *ioc, __u32 failure)
{
	struct iocx_server_remainder *remainder = bpf_map_lookup_elem(&puts_remainder, &ioc->generation);

	if (remainder)
		add_failure(remainder->failures, failure);
}

static __always_inline __u64 *held_by(__u32 holder)
{
	return bpf_map_lookup_elem(&slots_held, &holder);
}

static __always_inline __u32 index_of_ioc(__u32 generation)
{
	return generation % IOCX_SERVER_IOCS;
}

/*
 * Takes a slot off the free ones, for that client: -1, there is none. User space has zeroed its counters; it is to be
 * filled in and given to publish_slot().
 */
static __always_inline int reserve_slot(const struct iocx_server_ioc *ioc, __u32 client, __u32 *index)
{
	const __u64 *of_ioc = held_by(IOCX_SERVER_HELD_IOC + index_of_ioc(ioc->generation));
	const __u64 *of_client = held_by(client);

	if (!of_ioc || !of_client || !iocx_server_may(cfg_slots, *of_ioc, *of_client))
		return -1;
	return bpf_map_pop_elem(&free_slots, index) ? -1 : 0;
}

/* The same, with its facts: what a new slot begins with. */
static __always_inline struct iocx_server_slot *take_free_slot(const struct iocx_server_ioc *ioc, __u32 client,
							       __u32 *index, SERVER_INFO **info)
{
	if (reserve_slot(ioc, client, index))
		return 0;
	*info = bpf_map_lookup_elem(&slot_info, index);
	return *info ? bpf_map_lookup_elem(&server_slots, index) : 0;
}

static __always_inline void change_held(__u32 holder, __u64 more)
{
	__u64 *const held = held_by(holder);

	if (held)
		__sync_fetch_and_add(held, more);
}

/*
 * From now on puts with the key find the slot, and user space reads it. -1: another CPU has given the key a slot, and
 * this one is free again.
 */
static __always_inline int publish_slot(const SERVER_KEY *key, struct iocx_server_slot *slot, __u32 index,
					const struct iocx_server_ioc *ioc, __u32 client)
{
	if (bpf_map_update_elem(&slot_by_key, key, &index, BPF_NOEXIST)) {
		bpf_map_push_elem(&free_slots, &index, BPF_EXIST);
		return -1;
	}
	slot->holder_client = client;
	slot->holder_ioc = IOCX_SERVER_HELD_IOC + index_of_ioc(ioc->generation);
	change_held(IOCX_HELD_ALL, 1);
	change_held(slot->holder_ioc, 1);
	change_held(client, 1);
	slot->id = bpf_ktime_get_ns() | 1;
	/* Last: the addition to FREE, 0, is atomic, the only ordered store that Linux 5.10 has. */
	__sync_fetch_and_add(&slot->state, IOCX_SLOT_LIVE);
	return 0;
}

#endif
