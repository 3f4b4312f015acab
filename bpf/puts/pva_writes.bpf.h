/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * What a put by PV Access does between its begin and its end: whatever QSRV asks the database to write passes
 * dbChannelPut(), a link's text dbParseLink(), in the same thread. Of a put that waits for its record (block), QSRV's
 * putCallback does that, perhaps in another thread. Part of puts/pva_server_probe.bpf.c.
 */
#ifndef IOC_EXPORTER_BPF_PUTS_PVA_WRITES_BPF_H
#define IOC_EXPORTER_BPF_PUTS_PVA_WRITES_BPF_H

#define ADDRESS_OF_CHANNEL 8 /* dbChannel: its name, then its dbAddr */
/* processNotify, since Base 3.15.0.1. */
#define NOTIFY_STATUS 32
#define NOTIFY_PRIVATE 80 /* usrPvt */
#define NOTIFY_SIZE 88
#define NOTIFY_CANCELLED 1
/* Of QSRV 1: PVIF::proc_t. */
#define PROCESS_NOT_1 1
#define PROCESS_1 2
#define SINGLE_NOTIFY 120 /* PDBSinglePut.notify: behind it notifyBusy, doProc and doWait */
#define GROUP_OPTIONS 56  /* PDBGroupPut: atomic, doWait, doProc */
/* Of pvxs: TriState. */
#define PROCESS_2 1
#define PROCESS_NOT_2 2
#define CACHE_OF_PUT 16     /* what SingleSource gives to onPut(): the PutOperationCache, since pvxs 1.3 */
#define CACHE_NOTIFY 8      /* PutOperationCache: doWait, forceProcessing, notify */
#define OPTIONS_OF_GROUP 24 /* what GroupSource gives to onPut(), since pvxs 1.5.2: atomic, forceProcessing */

#define BITS_OF_OPTIONS 0xFFu
#define OF_GROUP 1ULL /* the address is of a group's */

static __always_inline __u32 option_bits(__u32 waits, __u32 process, __u32 yes, __u32 no)
{
	if (waits > 1 || process > 2)
		return 0;
	return (waits ? IOCX_PUTLOG_BLOCK : 0) | (process == yes ? IOCX_PUTLOG_PROCESS : 0) |
	       (process == no ? IOCX_PUTLOG_NO_PROCESS : 0);
}

/* Whether there is a processNotify that belongs to `owner`. */
static __always_inline int is_notify_of(__u64 notify, __u64 owner)
{
	__u64 found = 0;

	return !read_at(&found, sizeof found, notify + NOTIFY_PRIVATE) && found == owner;
}

/* Options of a put of QSRV 1. */
static __noinline __u64 qsrv1_options(__u64 put, int is_group)
{
	struct {
		__u8 is_atomic, waits, pad[2];
		__u32 process;
	} of_group = {};
	struct {
		__u32 busy, process;
		__u8 waits;
	} of_single = {};

	if (is_group)
		return read_at(&of_group, sizeof of_group, put + GROUP_OPTIONS)
			       ? 0
			       : option_bits(of_group.waits, of_group.process, PROCESS_1, PROCESS_NOT_1) &
					 ~IOCX_PUTLOG_BLOCK; /* it never waits, whatever the client asks for */
	if (!is_notify_of(put + SINGLE_NOTIFY, put) || read_at(&of_single, 9, put + SINGLE_NOTIFY + NOTIFY_SIZE))
		return 0;
	return option_bits(of_single.waits, of_single.process, PROCESS_1, PROCESS_NOT_1);
}

/* Where QSRV 2 has them at the end of a put, by the std::function that it calls; 0: not known. */
static __noinline __u64 qsrv2_options(__u64 function, int is_group)
{
	__u64 functor = 0, cache = 0;

	if (read_at(&functor, sizeof functor, function))
		return 0;
	if (is_group)
		return (functor + OPTIONS_OF_GROUP) | OF_GROUP;
	if (read_at(&cache, sizeof cache, functor + CACHE_OF_PUT) || !is_notify_of(cache + CACHE_NOTIFY, cache))
		return 0;
	return cache;
}

/* enum iocx_putlog_option of a put that ends. */
static __noinline __u32 options_of(const struct iocx_open_callback *put, const struct iocx_server_ioc *ioc)
{
	struct {
		__u8 waits, pad[3]; /* of a group: it is atomic */
		__u32 process;
	} of_qsrv2 = {};
	__u32 options = put->options & BITS_OF_OPTIONS;

	if (put->options > BITS_OF_OPTIONS) {
		options = read_at(&of_qsrv2, sizeof of_qsrv2, put->options & ~OF_GROUP)
				  ? 0
				  : option_bits(of_qsrv2.waits, of_qsrv2.process, PROCESS_2, PROCESS_NOT_2);
		if (put->options & OF_GROUP)
			options &= ~IOCX_PUTLOG_BLOCK;
	}
	return options | (ioc->reports_values && !put->value_lost ? IOCX_PUTLOG_VALUES : 0);
}

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
	if (cfg_putlog_bytes && ioc->reports_results)
		putlog_pva_end(put, putlog_pva_place(ioc->generation, slot->holder_client), failure,
			       options_of(put, ioc));
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

/* What the field has, and its name. Nothing: not known. */
static __always_inline void look_at_field(struct putlog_write *write, const struct iocx_server_ioc *ioc, __u64 channel)
{
	const __u64 size = iocx_dbf_size(write->type, ioc->enum_type);
	__u64 bytes = write->count * size;
	__u32 is_array;

	write->value_bytes = bytes > cfg_putlog_bytes ? cfg_putlog_bytes : bytes;
	if (read_at(&write->name, sizeof write->name, channel))
		write->name = 0;
	if (read_at(&write->address, sizeof write->address, channel + ADDRESS_OF_CHANNEL)) {
		write->address.field_size = 0;
		return;
	}
	putlog_find_layout(write, ioc);
	is_array = write->address.elements != 1 ? IOCX_PUTLOG_IS_ARRAY : 0; /* at most, as QSRV sees it */
	if (putlog_find_elements(&write->layout, &write->address, &write->flags, &write->most))
		write->address.field_size = 0;
	write->flags = is_array;
	bytes = (__u64)write->address.elements * (__u16)write->address.field_size;
	write->old_bytes = bytes > cfg_putlog_bytes ? cfg_putlog_bytes : bytes;
}

/* `channel`: 0, `value` is the text of a link. */
static __always_inline int tell_write(__u64 channel, __u32 type, __u64 value, __u32 count)
{
	const __u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct iocx_open_callback *put = bpf_map_lookup_elem(&callback_threads, &tid), *waiting = 0;
	const struct iocx_server_ioc *ioc = put && cfg_putlog_bytes ? current_ioc() : 0;
	const struct iocx_server_slot *slot = ioc ? slot_of_put(put, ioc) : 0;
	struct putlog_write write = {.value = value, .type = type, .count = count};

	if (!slot || !ioc->enum_type || !ioc->reports_results) /* without results no put waits for its values */
		return 0;
	if (put->notify) {
		waiting = waiting_put(put, ioc->generation);
		if (!waiting)
			return 0;
	}
	write.time = put->since_ns;
	write.slot = put->slot;
	write.place = putlog_pva_place(ioc->generation, slot->holder_client);
	write.layout.enum_type = ioc->enum_type;
	write.is_text = !channel;
	if (channel)
		look_at_field(&write, ioc, channel);
	else
		write.value_bytes = cfg_putlog_bytes;
	if (!putlog_tell_write(&write)) {
		put->value_lost = 1;
		if (waiting)
			waiting->value_lost = 1;
	}
	if (put->notify) /* that callback writes once */
		bpf_map_delete_elem(&callback_threads, &tid);
	return 0;
}

/* dbChannelPut(channel, type, value, count) */
PROGRAM(pva_write)
{
	return tell_write(PT_REGS_PARM1(ctx), (__u16)PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx), PT_REGS_PARM4(ctx));
}

/* dbParseLink(text, type, ...), since Base 3.16: dbPutField() has it read a link's new text. */
PROGRAM(pva_write_link)
{
	return tell_write(0, 0, PT_REGS_PARM1(ctx), 1);
}

/* QSRV's putCallback(notify, type): the database has it write what it waits for. */
PROGRAM(pva_notify_put)
{
	struct iocx_open_callback_key key = {.notify = PT_REGS_PARM1(ctx)};
	const __u32 tid = (__u32)bpf_get_current_pid_tgid();
	const struct iocx_server_ioc *ioc = current_ioc();
	const struct iocx_open_callback *open;
	struct iocx_open_callback put;

	if (!ioc)
		return 0;
	key.generation = ioc->generation;
	open = bpf_map_lookup_elem(&open_callbacks, &key);
	if (!open)
		return 0;
	put = *open;
	put.notify = key.notify;
	bpf_map_update_elem(&callback_threads, &tid, &put, BPF_ANY);
	return 0;
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
