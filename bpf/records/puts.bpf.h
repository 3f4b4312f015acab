/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Counts every write to a record of a watched IOC, by its source, at the entry of dbPut: all writes of
 * values go through it, whoever asks for them, but not those to link fields, which dbPutField does itself
 * (dbAccess.c, dbPutFieldLink).
 *
 * The source is the innermost thing that the write is made in: a database link, known by the code that
 * dbPut returns to; dbpf; a dbProcess that is under way; else what the thread is there for. A put with
 * callback that had to wait for a busy record is done by a callback thread, and belongs to the thread that
 * asked for it: record->ppn is the request that owns the record then (dbNotify.c, processNotifyCommon).
 */
#ifndef IOC_EXPORTER_BPF_RECORD_PUTS_H
#define IOC_EXPORTER_BPF_RECORD_PUTS_H

/* Whether writes by CA are counted by client, too. Set before loading. */
const volatile __u8 cfg_ca_put_clients = 0;

/* dbPutLink, dbDbPutValue and dbPut lie within so much stack. */
#define PUT_LINK_STACK 1024

static __always_inline void count_put_drop(enum iocx_put_drop reason)
{
	add_to_counter(&put_drops, reason, 1);
}

/* Of a function that has just been entered. */
static __always_inline __u64 return_address(struct pt_regs *ctx)
{
#if defined(__TARGET_ARCH_x86)
	__u64 address = 0;

	bpf_probe_read_user(&address, sizeof(address), (void *)PT_REGS_SP(ctx));
	return address;
#else
	return PT_REGS_RET(ctx);
#endif
}

/* Whether the function that was entered returns into the code that begins `from` bytes after it. */
static __always_inline int returns_into(struct pt_regs *ctx, __u64 from, __u32 size)
{
	return size && return_address(ctx) - PT_REGS_IP(ctx) - from < size;
}

/* What the thread writes for, when nothing tells better. */
static __always_inline __u32 source_of_thread(const struct iocx_thread *thread)
{
	if (thread->cause == IOCX_CAUSE_CA)
		return IOCX_PUT_CA;
	if (thread->cause == IOCX_CAUSE_PVA)
		return IOCX_PUT_PVA;
	return COMM_STARTS(thread->comm, "dbtpn\0") ? IOCX_PUT_SHELL : IOCX_PUT_OTHER;
}

/* The thread's id when it serves one client only, and that client is asked for. */
static __always_inline __u32 client_of_thread(const struct iocx_thread *thread)
{
	if (COMM_STARTS(thread->comm, "TCP-rx") || (cfg_ca_put_clients && thread->cause == IOCX_CAUSE_CA))
		return (__u32)thread->owner;
	return 0;
}

/* Whether the thread is within dbpf, and not within a dbProcess that dbpf called. */
static __always_inline int in_shell(struct iocx_thread *thread, const struct iocx_ioc_config *config, __u64 sp,
				    const struct iocx_frame *frame)
{
	/* The return probe may have been detached too early to see the end of dbpf. */
	if (sp >= thread->puts.shell_sp || thread->puts.shell_epoch != config->epoch)
		return 0;
	return !frame || frame->sp > thread->puts.shell_sp;
}

/* The source of a write that no link makes, and the thread whose client it is for. */
static __always_inline __u32 source_of_call(struct iocx_thread *thread, const struct iocx_ioc_config *config,
					    __u64 sp, __u32 *client)
{
	const struct iocx_frame *frame = live_frame(thread, config, sp);

	if (in_shell(thread, config, sp, frame))
		return IOCX_PUT_SHELL;
	if (frame)
		return IOCX_PUT_OTHER;
	*client = client_of_thread(thread);
	return source_of_thread(thread);
}

/*
 * Whether dbPutLink, entered before, makes this write: it passes the value on, and nothing else lies
 * between the two on the stack. Only asked where no symbol tells the code that dbPut returns to.
 */
static __always_inline int passed_on_by_link(struct iocx_thread *thread, __u64 sp, __u64 buffer)
{
	struct iocx_thread_puts *puts = &thread->puts;

	if (!puts->link_sp || puts->link_buffer != buffer || sp >= puts->link_sp ||
	    puts->link_sp - sp > PUT_LINK_STACK)
		return 0;
	puts->link_sp = 0;
	return 1;
}

/* A write by a thread whose purpose tells nothing: for whoever put with callback, if it is that. */
static __always_inline __u32 source_of_waiting(const struct iocx_put_config *puts, struct iocx_thread *thread,
					       __u64 record, __u64 address, __u32 *client)
{
	struct iocx_notify_key key = {};
	struct iocx_notify *notify;

	if (!puts->ppn ||
	    bpf_probe_read_user(&key.notify, sizeof(key.notify), (void *)(record + puts->ppn)) || !key.notify)
		return IOCX_PUT_OTHER;
	key.tgid = thread->owner >> 32;
	notify = bpf_map_lookup_elem(&put_notifies, &key);
	if (!notify) {
		if (thread->cause == IOCX_CAUSE_CALLBACK)
			count_put_drop(IOCX_PUT_DROP_NOTIFY_UNKNOWN);
		return IOCX_PUT_OTHER;
	}
	if (notify->address != address) /* another write to a record that a put with callback owns */
		return IOCX_PUT_OTHER;
	*client = notify->tid;
	return notify->source;
}

static __always_inline void count_put_client(__u32 slot, __u64 record, __u32 source, __u32 client)
{
	struct iocx_put_client_key key = {.record = record, .slot = slot, .tid = client, .source = source};
	const __u64 zero = 0;
	__u64 *count = find_or_add(&put_clients, &key, &zero);

	if (count)
		__sync_fetch_and_add(count, 1);
	else
		count_put_drop(IOCX_PUT_DROP_CLIENTS_FULL);
}

/* Atomic: not everyone who writes to a record holds its lock. */
static __noinline int count_put(__u32 slot, __u64 record, __u32 source, __u32 client)
{
	struct iocx_record_stats *stats = stats_of(slot, record);

	asm volatile("" : "+r"(source)); /* keeps the check that the verifier wants */
	if (!stats || source >= IOCX_PUT_SOURCES)
		return 0;
	__sync_fetch_and_add(&stats->puts[source], 1);
	if (client) /* after the sum of which it is a part: user space reads in the other order */
		count_put_client(slot, record, source, client);
	return 0;
}

/* A write by a thread that there is no room for. */
static __noinline int count_put_without_thread(__u64 id, __u64 record, __u32 attach)
{
	struct iocx_ioc_config *config;
	__u32 *slot;

	config = config_of_process(id, &slot);
	if (!config || !is_counted_by(config, attach))
		return 0;
	return count_put(*slot, record, IOCX_PUT_OTHER, 0);
}

/* dbPut(DBADDR *, short type, const void *value, long elements) */
static __always_inline int on_put(struct pt_regs *ctx, __u8 attach)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u64 sp = PT_REGS_SP(ctx), address = PT_REGS_PARM1(ctx), record = 0;
	const struct iocx_put_config *puts;
	struct iocx_ioc_config *config;
	struct iocx_thread *thread;
	__u32 source, client = 0;
	int no_room;

	thread = watched_thread(id, &config, &no_room);
	if (!thread && !no_room)
		return 0;
	if (thread && !is_counted_by(config, attach))
		return 0;
	if (thread)
		thread->counts.entries += 1;
	/* DBADDR begins with the record's address in every version. */
	if (bpf_probe_read_user(&record, sizeof(record), (void *)address)) {
		count_put_drop(IOCX_PUT_DROP_READ);
		return 0;
	}
	if (!thread)
		return count_put_without_thread(id, record, attach);
	puts = bpf_map_lookup_elem(&put_config, &thread->slot);
	if (!puts)
		return 0;
	if (returns_into(ctx, puts->link_from, puts->link_size) ||
	    passed_on_by_link(thread, sp, PT_REGS_PARM3(ctx))) {
		source = IOCX_PUT_LINK;
	} else {
		source = source_of_call(thread, config, sp, &client);
		if (source == IOCX_PUT_OTHER)
			source = source_of_waiting(puts, thread, record, address, &client);
	}
	return count_put(thread->slot, record, source, client);
}

/*
 * dbCanSetLink(struct link *, dbLinkInfo *, devSup *), since Base 3.16: what dbPutField asks before it
 * changes a link, and hardly anyone else. struct link begins with its record's address since then.
 */
static __always_inline int on_put_link_field(struct pt_regs *ctx, __u8 attach)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u64 sp = PT_REGS_SP(ctx), record = 0;
	const struct iocx_put_config *puts;
	struct iocx_ioc_config *config;
	struct iocx_thread *thread;
	__u32 source, client = 0;

	thread = counted_thread(id, &config, attach);
	if (!thread)
		return 0;
	puts = bpf_map_lookup_elem(&put_config, &thread->slot);
	if (!puts || !(returns_into(ctx, puts->field_from, puts->field_size) ||
		       returns_into(ctx, puts->field_link_from, puts->field_link_size)))
		return 0;
	if (bpf_probe_read_user(&record, sizeof(record), (void *)PT_REGS_PARM1(ctx))) {
		count_put_drop(IOCX_PUT_DROP_READ);
		return 0;
	}
	source = source_of_call(thread, config, sp, &client);
	return count_put(thread->slot, record, source, client);
}

/* dbPutField(DBADDR *, ...), where there is no dbCanSetLink: counts what it writes to link fields. */
static __always_inline int on_put_field(struct pt_regs *ctx, __u8 attach)
{
	struct {
		__u64 record, field, description;
	} address = {};
	__u64 id = bpf_get_current_pid_tgid(), sp = PT_REGS_SP(ctx);
	const struct iocx_put_config *puts;
	struct iocx_ioc_config *config;
	struct iocx_thread *thread;
	__u32 source, client = 0;
	__s32 type = 0;
	__u8 disp = 0;

	thread = counted_thread(id, &config, attach);
	if (!thread)
		return 0;
	puts = bpf_map_lookup_elem(&put_config, &thread->slot);
	if (!puts)
		return 0;
	if (bpf_probe_read_user(&address, sizeof(address), (void *)PT_REGS_PARM1(ctx)) ||
	    bpf_probe_read_user(&type, sizeof(type), (void *)(address.description + IOCX_FLDDES_TYPE)) ||
	    bpf_probe_read_user(&disp, sizeof(disp), (void *)(address.record + puts->disp))) {
		count_put_drop(IOCX_PUT_DROP_READ);
		return 0;
	}
	if (type < IOCX_DBF_INLINK_BEFORE_3_16 || type > IOCX_DBF_FWDLINK_BEFORE_3_16 || disp)
		return 0;
	source = source_of_call(thread, config, sp, &client);
	return count_put(thread->slot, address.record, source, client);
}

/* dbProcessNotify(struct processNotify *), in 3.14 dbPutNotify: who asks, in case another thread does it. */
SEC("uprobe")
int put_notify(struct pt_regs *ctx)
{
	struct iocx_notify_key key = {.notify = PT_REGS_PARM1(ctx)};
	__u64 id = bpf_get_current_pid_tgid();
	const struct iocx_put_config *puts;
	struct iocx_notify notify = {};
	struct iocx_ioc_config *config;
	struct iocx_thread *thread;

	thread = noted_thread(id, &config);
	puts = thread ? bpf_map_lookup_elem(&put_config, &thread->slot) : NULL;
	if (!thread || !puts)
		return 0;
	if (bpf_probe_read_user(&notify.address, sizeof(notify.address),
				(void *)(key.notify + puts->notify_address)))
		return 0;
	notify.address += puts->address_in;
	notify.source = source_of_call(thread, config, PT_REGS_SP(ctx), &notify.tid);
	key.tgid = id >> 32;
	bpf_map_update_elem(&put_notifies, &key, &notify, BPF_ANY);
	return 0;
}

/* dbPutLink(struct link *, short type, const void *value, long elements) */
SEC("uprobe")
int put_link(struct pt_regs *ctx)
{
	struct iocx_ioc_config *config;
	struct iocx_thread *thread = noted_thread(bpf_get_current_pid_tgid(), &config);

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
	struct iocx_thread *thread = noted_thread(bpf_get_current_pid_tgid(), &config);

	if (!thread)
		return 0;
	thread->puts.shell_sp = PT_REGS_SP(ctx);
	thread->puts.shell_epoch = config->epoch;
	return 0;
}

SEC("uretprobe")
int put_shell_return(struct pt_regs *ctx)
{
	struct iocx_thread *thread = thread_of(bpf_get_current_pid_tgid());

	if (!thread)
		return 0;
	thread->counts.returns += 1;
	if (thread->puts.shell_sp <= PT_REGS_SP(ctx) - RETURN_ADDRESS_SIZE)
		thread->puts.shell_sp = 0;
	return 0;
}

ENTRY_PROGRAMS(put, on_put)
ENTRY_PROGRAMS(put_lfld, on_put_link_field)
ENTRY_PROGRAMS(put_field, on_put_field)

#endif
