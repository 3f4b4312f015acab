/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Begin and end of a put by PV Access, with what waits for its record (block) in between. Part of
 * puts/pva_server_probe.bpf.c.
 */
#ifndef IOC_EXPORTER_BPF_PUTS_PVA_ENDS_BPF_H
#define IOC_EXPORTER_BPF_PUTS_PVA_ENDS_BPF_H

/* processNotify, since Base 3.15.0.1. */
#define NOTIFY_STATUS 32
#define NOTIFY_CANCELLED 1

/* For what follows in the thread. `slot`: NULL, there is none. Not inlined: the key is on the caller's stack. */
static __noinline int begin_put(const struct iocx_server_slot *slot, __u32 index, __u64 now, __u64 options)
{
	const __u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct iocx_open_callback put = {.since_ns = now, .slot = index, .options = options};

	if (!slot)
		return bpf_map_delete_elem(&callback_threads, &tid);
	put.id = slot->id;
	return bpf_map_update_elem(&callback_threads, &tid, &put, BPF_ANY);
}

/* The slot of a put; NULL: that was one of another IOC's thread with the same number, or the slot is another one's. */
static __always_inline struct iocx_server_slot *slot_of_put(const struct iocx_open_callback *put,
							    const struct iocx_server_ioc *ioc)
{
	struct iocx_server_slot *slot = bpf_map_lookup_elem(&server_slots, &put->slot);

	return slot && slot->id == put->id && slot->who.generation == ioc->generation ? slot : 0;
}

/* The put has ended; IOCX_FAILURES: well. */
static __always_inline int finish_put(const struct iocx_open_callback *put, __u32 failure)
{
	const struct iocx_server_ioc *ioc = current_ioc();
	const struct iocx_server_slot *slot = ioc ? slot_of_put(put, ioc) : 0;

	if (!slot)
		return 0;
	if (failure != IOCX_FAILED_NO_WRITE_ACCESS && failure != IOCX_FAILED_CANCELLED)
		add_put_duration(put->slot, put->since_ns);
	on_put_ended(put, slot, ioc, failure);
	return 0;
}

/* The thread answers the client. */
static __noinline int end_put(__u32 failure)
{
	const __u32 tid = (__u32)bpf_get_current_pid_tgid();
	const struct iocx_open_callback *put = bpf_map_lookup_elem(&callback_threads, &tid);

	if (!put || put->notify)
		return 0;
	finish_put(put, failure);
	return bpf_map_delete_elem(&callback_threads, &tid);
}

/* Whether the put with that processNotify still waits; else the thread has been left with what it was. */
static __always_inline struct iocx_open_callback *waiting_put(const struct iocx_open_callback *put, __u32 generation)
{
	const struct iocx_open_callback_key key = {.notify = put->notify, .generation = generation};
	struct iocx_open_callback *open = bpf_map_lookup_elem(&open_callbacks, &key);

	return open && open->since_ns == put->since_ns ? open : 0;
}

/* dbProcessNotify(notify): of a put that is to be answered when its record has processed, in the same thread. */
PROGRAM(pva_notify)
{
	const __u32 tid = (__u32)bpf_get_current_pid_tgid();
	const struct iocx_open_callback *put = bpf_map_lookup_elem(&callback_threads, &tid);

	return put && !put->notify ? open_callback(PT_REGS_PARM1(ctx)) : 0;
}

/* What both servers have the database call when it is done: unless it was cancelled, they answer in the same thread. */
PROGRAM(pva_notify_end)
{
	const __u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct iocx_open_callback put;
	__s32 status = NOTIFY_CANCELLED;

	if (close_callback(PT_REGS_PARM1(ctx), &put))
		return 0;
	read_at(&status, sizeof status, PT_REGS_PARM1(ctx) + NOTIFY_STATUS);
	if (status != NOTIFY_CANCELLED)
		bpf_map_update_elem(&callback_threads, &tid, &put, BPF_ANY);
	return 0;
}

/* dbNotifyCancel(notify) */
PROGRAM(pva_notify_canc)
{
	struct iocx_server_result *result;
	struct iocx_open_callback put;
	__u32 index;

	if (close_callback(PT_REGS_PARM1(ctx), &put))
		return 0;
	index = put.slot;
	result = bpf_map_lookup_elem(&slot_results, &index);
	if (result)
		add_failure(result->failures, IOCX_FAILED_CANCELLED);
	return finish_put(&put, IOCX_FAILED_CANCELLED);
}

#endif
