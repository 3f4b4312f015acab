/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Counts every write to a record of a watched IOC, by its source, at the entry of dbPut. All writes of values go
 * through dbPut; writes to link fields do not, dbPutField makes them itself (dbAccess.c, dbPutFieldLink).
 */
#ifndef IOC_EXPORTER_BPF_RECORD_PUTS_H
#define IOC_EXPORTER_BPF_RECORD_PUTS_H

/* Counts a write. Atomic, since not every writer holds the lock of the record. */
static __noinline int count_put(__u32 slot, __u64 record, __u32 source)
{
	struct iocx_record_stats *stats = stats_of(slot, record);

	asm volatile("" : "+r"(source)); /* keeps the check that the verifier wants */
	if (!stats || source >= IOCX_PUT_SOURCES)
		return 0;
	__sync_fetch_and_add(&stats->puts[source], 1);
	return 0;
}

/* Counts a write by a thread that has no stack; not one in which user space switches the kind of attachment. */
static __noinline int count_put_without_thread(struct pt_regs *ctx, __u64 id, __u64 record, __u32 attach)
{
	struct iocx_ioc_config *config;
	__u32 *slot;

	config = config_of_process(id, &slot);
	if (!config || config->attach != kind_of_attachment(ctx, attach))
		return 0;
	return count_put(*slot, record, IOCX_PUT_OTHER);
}

/* dbPut(DBADDR *, short type, const void *value, long elements) */
static __always_inline int on_put(struct pt_regs *ctx, __u8 attach)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u64 sp = PT_REGS_SP(ctx), address = PT_REGS_PARM1(ctx), record = 0;
	const struct iocx_put_config *puts;
	struct iocx_ioc_config *config;
	struct iocx_thread *thread;
	__u32 source;
	int no_room;

	thread = watched_thread(id, &config, &no_room);
	if (!thread && !no_room)
		return 0;
	if (thread && !is_counted_by(ctx, thread, config, attach))
		return 0;
	if (thread)
		count_hit(thread, config, IOCX_PROBE_PUT);
	/* In every version, DBADDR starts with the address of the record. */
	if (bpf_probe_read_user(&record, sizeof(record), (void *)address)) {
		count_drop(IOCX_RECORD_DROP_READ);
		return 0;
	}
	if (!thread)
		return count_put_without_thread(ctx, id, record, attach);
	puts = bpf_map_lookup_elem(&put_config, &thread->slot);
	if (!puts)
		return 0;
	if (returns_into(ctx, puts->link_from, puts->link_size) || passed_on_by_link(thread, sp, PT_REGS_PARM3(ctx))) {
		source = IOCX_PUT_LINK;
	} else {
		source = source_of_call(ctx, thread, config);
		if (source == IOCX_PUT_OTHER)
			source = source_of_waiting(puts, thread, record, address);
	}
	return count_put(thread->slot, record, source);
}

/*
 * dbCanSetLink(struct link *, dbLinkInfo *, devSup *), since Base 3.16: dbPutField calls it before it changes a link,
 * and hardly anything else does. Since then struct link starts with the address of the record.
 */
static __always_inline int on_put_link_field(struct pt_regs *ctx, __u8 attach)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u64 record = 0;
	const struct iocx_put_config *puts;
	struct iocx_ioc_config *config;
	struct iocx_thread *thread;
	__u32 source;

	thread = counted_thread(ctx, id, &config, attach, IOCX_PROBE_PUT_LINK_FIELD);
	if (!thread)
		return 0;
	puts = bpf_map_lookup_elem(&put_config, &thread->slot);
	if (!puts || !(returns_into(ctx, puts->field_from, puts->field_size) ||
		       returns_into(ctx, puts->field_link_from, puts->field_link_size)))
		return 0;
	if (bpf_probe_read_user(&record, sizeof(record), (void *)PT_REGS_PARM1(ctx))) {
		count_drop(IOCX_RECORD_DROP_READ);
		return 0;
	}
	source = source_of_call(ctx, thread, config);
	return count_put(thread->slot, record, source);
}

/* dbPutField(DBADDR *, ...), where there is no dbCanSetLink: counts its writes to link fields. */
static __always_inline int on_put_field(struct pt_regs *ctx, __u8 attach)
{
	struct {
		__u64 record, field, description;
	} address = {};
	__u64 id = bpf_get_current_pid_tgid();
	const struct iocx_put_config *puts;
	struct iocx_ioc_config *config;
	struct iocx_thread *thread;
	__u32 source;
	__s32 type = 0;
	__u8 disp = 0;

	thread = counted_thread(ctx, id, &config, attach, IOCX_PROBE_PUT_FIELD);
	if (!thread)
		return 0;
	puts = bpf_map_lookup_elem(&put_config, &thread->slot);
	if (!puts)
		return 0;
	if (bpf_probe_read_user(&address, sizeof(address), (void *)PT_REGS_PARM1(ctx)) ||
	    bpf_probe_read_user(&type, sizeof(type), (void *)(address.description + IOCX_FLDDES_TYPE)) ||
	    bpf_probe_read_user(&disp, sizeof(disp), (void *)(address.record + puts->disp))) {
		count_drop(IOCX_RECORD_DROP_READ);
		return 0;
	}
	if (type < IOCX_DBF_INLINK_BEFORE_3_16 || type > IOCX_DBF_FWDLINK_BEFORE_3_16 || disp)
		return 0;
	source = source_of_call(ctx, thread, config);
	return count_put(thread->slot, address.record, source);
}

/*
 * dbProcessNotify(struct processNotify *), in 3.14 dbPutNotify: notes the source, as another thread may do the
 * write.
 */
SEC("uprobe")
int put_notify(struct pt_regs *ctx)
{
	struct iocx_notify_key key = {.notify = PT_REGS_PARM1(ctx)};
	__u64 id = bpf_get_current_pid_tgid();
	const struct iocx_put_config *puts;
	struct iocx_notify notify = {};
	struct iocx_ioc_config *config;
	struct iocx_thread *thread;
	void *notifies;

	thread = noted_thread(id, &config, IOCX_PROBE_NOTIFY);
	puts = thread ? bpf_map_lookup_elem(&put_config, &thread->slot) : NULL;
	if (!thread || !puts)
		return 0;
	if (bpf_probe_read_user(&notify.address, sizeof(notify.address), (void *)(key.notify + puts->notify_address)))
		return 0;
	notify.address += puts->address_in;
	notify.source = source_of_call(ctx, thread, config);
	key.tgid = id >> 32;
	notifies = notifies_of(puts);
	if (notifies)
		bpf_map_update_elem(notifies, &key, &notify, BPF_ANY);
	return 0;
}

/* dbPutLink(struct link *, short type, const void *value, long elements) */
SEC("uprobe")
int put_link(struct pt_regs *ctx)
{
	struct iocx_ioc_config *config;
	struct iocx_thread *thread = noted_thread(bpf_get_current_pid_tgid(), &config, IOCX_PROBE_PUT_LINK);

	if (!thread)
		return 0;
	thread->puts.link_sp = PT_REGS_SP(ctx);
	thread->puts.link_buffer = PT_REGS_PARM3(ctx);
	return 0;
}

/* dbpf(const char *name, const char *value) */
SEC("uprobe")
int put_shell(struct pt_regs *ctx)
{
	struct iocx_ioc_config *config;
	struct iocx_thread *thread = noted_thread(bpf_get_current_pid_tgid(), &config, IOCX_PROBE_SHELL);

	if (thread)
		note_call(ctx, &thread->puts.shell, config);
	return 0;
}

/* The record that a dbChannelIO writes to, which has its dbChannel or, before Base 3.15.1, the DBADDR; 0: not known. */
static __always_inline __u64 record_of_channel(__u32 slot, __u64 io)
{
	const struct iocx_put_config *puts = bpf_map_lookup_elem(&put_config, &slot);
	__u64 at = io + IOCX_INSIDE_CHANNEL, record = 0;

	if (!puts || (puts->address_in && read_from(&at, sizeof(at), at)) ||
	    read_from(&record, sizeof(record), at + puts->address_in))
		return 0;
	return record;
}

/*
 * dbChannelIO::write(this, guard, type, count, value), and the same with what is called when it is done: a client of
 * Channel Access in the IOC's process writes to its own record (dbChannelIO.cpp). Traces have the write only where its
 * end is seen, also in an exception: else what the thread does next might seem to be part of it.
 */
static __always_inline int on_inside(struct pt_regs *ctx, enum iocx_ending_function function,
				     enum iocx_record_probe probe)
{
	const struct iocx_function_ends *ends;
	struct iocx_ioc_config *config;
	struct iocx_thread *thread = noted_thread(bpf_get_current_pid_tgid(), &config, probe);
	__u32 index;

	if (!thread)
		return 0;
	note_call(ctx, &thread->puts.inside, config);
	if (!cfg_traces)
		return 0;
	index = thread->slot * IOCX_ENDING_FUNCTIONS + function;
	ends = bpf_map_lookup_elem(&function_ends, &index);
	thread->puts.written = ends && ends->count ? record_of_channel(thread->slot, PT_REGS_PARM1(ctx)) : 0;
	return 0;
}

SEC("uprobe")
int put_inside(struct pt_regs *ctx)
{
	return on_inside(ctx, IOCX_ENDING_INSIDE, IOCX_PROBE_PUT_INSIDE);
}

SEC("uprobe")
int put_inside_cb(struct pt_regs *ctx)
{
	return on_inside(ctx, IOCX_ENDING_INSIDE_NOTIFY, IOCX_PROBE_NOTIFY_INSIDE);
}

/* `call`: the latest one of the function. */
static __always_inline int end_call(struct pt_regs *ctx, struct iocx_thread *thread, struct iocx_noted_call *call,
				    enum iocx_ending_function function)
{
	count_return(thread, 0);
	if (call->sp <= sp_of_ending(ctx, thread->slot, function))
		call->sp = 0;
	return 0;
}

SEC("uprobe")
int put_shell_end(struct pt_regs *ctx)
{
	struct iocx_thread *thread = thread_of(bpf_get_current_pid_tgid());

	return thread ? end_call(ctx, thread, &thread->puts.shell, IOCX_ENDING_SHELL) : 0;
}

SEC("uprobe")
int inside_end(struct pt_regs *ctx)
{
	struct iocx_thread *thread = thread_of(bpf_get_current_pid_tgid());

	return thread ? end_call(ctx, thread, &thread->puts.inside, IOCX_ENDING_INSIDE) : 0;
}

SEC("uprobe")
int inside_cb_end(struct pt_regs *ctx)
{
	struct iocx_thread *thread = thread_of(bpf_get_current_pid_tgid());

	return thread ? end_call(ctx, thread, &thread->puts.inside, IOCX_ENDING_INSIDE_NOTIFY) : 0;
}

ENTRY_PROGRAM(put, on_put)
ENTRY_PROGRAM(put_lfld, on_put_link_field)
ENTRY_PROGRAM(put_field, on_put_field)

#endif
