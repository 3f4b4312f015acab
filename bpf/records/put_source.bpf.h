/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Source of a write: a database link, by the return address of dbPut; dbpf or dbtpn; a client of Channel Access in the
 * IOC itself, by dbChannelIO::write; a dbProcess that is under way; else the purpose of the thread. The innermost counts.
 *
 * A put with callback that had to wait for a busy record is done by a callback thread, but belongs to the thread
 * that asked for it: record->ppn points to the request that owns the record (dbNotify.c, processNotifyCommon).
 */
#ifndef IOC_EXPORTER_BPF_RECORD_PUT_SOURCE_H
#define IOC_EXPORTER_BPF_RECORD_PUT_SOURCE_H

/* The frames of dbPutLink, dbDbPutValue and dbPut take less stack than this. */
#define PUT_LINK_STACK 1024

/* Whether the function that was entered returns into the `size` bytes of code that start `from` bytes behind it. */
static __always_inline int returns_into(struct pt_regs *ctx, __u64 from, __u32 size)
{
	return size && return_address(ctx) - PT_REGS_IP(ctx) - from < size;
}

/* The source of a write by the purpose of its thread. */
static __always_inline __u32 source_of_thread(const struct iocx_thread *thread)
{
	if (thread->cause == IOCX_CAUSE_CA)
		return IOCX_PUT_CA;
	if (thread->cause == IOCX_CAUSE_PVA)
		return IOCX_PUT_PVA;
	return COMM_STARTS(thread->comm, "dbtpn\0") ? IOCX_PUT_SHELL : IOCX_PUT_OTHER;
}

/* The source of a write that is not made by a link. */
static __always_inline __u32 source_of_call(struct pt_regs *ctx, struct iocx_thread *thread,
					    const struct iocx_ioc_config *config)
{
	const struct iocx_frame *frame = live_frame(thread, config, ctx);

	if (is_within(ctx, &thread->puts.shell, config, frame))
		return IOCX_PUT_SHELL;
	if (is_within(ctx, &thread->puts.inside, config, frame))
		return COMM_STARTS(thread->comm, "dbCaLink") ? IOCX_PUT_LINK : IOCX_PUT_INSIDE;
	if (frame)
		return IOCX_PUT_OTHER;
	return source_of_thread(thread);
}

/*
 * Whether dbPutLink, which the thread has entered, makes this write: it passes on the same value, from nearby on the
 * stack. Only used when no symbol names the code that dbPut returns to.
 */
static __always_inline int passed_on_by_link(struct iocx_thread *thread, __u64 sp, __u64 buffer)
{
	struct iocx_thread_puts *puts = &thread->puts;

	if (!puts->link_sp || puts->link_buffer != buffer || sp >= puts->link_sp || puts->link_sp - sp > PUT_LINK_STACK)
		return 0;
	puts->link_sp = 0;
	return 1;
}

/* The table of puts with callback that the IOC's are in. */
static __always_inline void *notifies_of(const struct iocx_put_config *puts)
{
	__u32 index = puts->notifies;

	return bpf_map_lookup_elem(&put_notifies, &index);
}

/* The source of a write that may be a put with callback, done by another thread than the one that began it. */
static __always_inline __u32 source_of_waiting(const struct iocx_put_config *puts, struct iocx_thread *thread,
					       __u64 record, __u64 address)
{
	struct iocx_notify_key key = {};
	struct iocx_notify *notify = NULL;
	void *notifies;

	if (!puts->ppn || bpf_probe_read_user(&key.notify, sizeof(key.notify), (void *)(record + puts->ppn)) ||
	    !key.notify)
		return IOCX_PUT_OTHER;
	key.tgid = thread->owner >> 32;
	notifies = notifies_of(puts);
	if (notifies)
		notify = bpf_map_lookup_elem(notifies, &key);
	if (!notify) {
		if (thread->cause == IOCX_CAUSE_CALLBACK)
			count_drop(IOCX_RECORD_DROP_NOTIFY_UNKNOWN);
		return IOCX_PUT_OTHER;
	}
	if (notify->address != address) /* a different write to a record that a put with callback owns */
		return IOCX_PUT_OTHER;
	return notify->source;
}

#endif
