/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Times each pass through a periodic scan list: scanList() of dbScan.c in the threads of periodic scans. Passes
 * through lists of events and of I/O interrupts, in callback threads, are not timed, since no name identifies the list.
 */
#ifndef IOC_EXPORTER_BPF_SCAN_LISTS_H
#define IOC_EXPORTER_BPF_SCAN_LISTS_H

MAP(scan_lists, HASH, IOCX_MAX_SCAN_LISTS, __u64, struct iocx_scan_list); /* tgid << 32 | tid */

/* Zeroes, to copy for a new list. Never written. */
MAP(zero_scan_list, ARRAY, 1, __u32, struct iocx_scan_list);

/* Returns 0, counted as dropped, when there is no room for the thread's IOC. */
static __noinline int add_scan_list(const struct iocx_thread *thread)
{
	const void *zeroes = only_element(&zero_scan_list);
	struct iocx_scan_list *list = NULL;
	__u32 holder;
	__u64 id;

	if (!thread || !zeroes)
		return 0;
	id = thread->owner;
	holder = thread->holder;
	if (take_place(IOCX_HELD_SCAN_LISTS, holder)) {
		list = add_entry(&scan_lists, &id, zeroes);
		if (!list)
			give_place(IOCX_HELD_SCAN_LISTS, holder);
	}
	if (!list) {
		count_drop(IOCX_RECORD_DROP_RECORDS_FULL);
		return 0;
	}
	list->slot = thread->slot;
	barrier(); /* with a holder, its slot counts */
	list->holder = holder;
	return 1;
}

/* The list of the thread, added at its first pass. NULL: counted as dropped. */
static __always_inline struct iocx_scan_list *scan_list_of(const struct iocx_thread *thread)
{
	__u64 id = thread->owner;
	struct iocx_scan_list *list = bpf_map_lookup_elem(&scan_lists, &id);

	if (list)
		return list;
	return add_scan_list(thread) ? bpf_map_lookup_elem(&scan_lists, &id) : NULL;
}

static __always_inline int on_scan_entry(struct pt_regs *ctx, __u8 attach)
{
	const __u64 now = bpf_ktime_get_ns(), tick = bpf_jiffies64();
	__u64 id = bpf_get_current_pid_tgid();
	struct iocx_ioc_config *config;
	struct iocx_scan_list *list;
	struct iocx_thread *thread;

	thread = counted_thread(ctx, id, &config, attach, IOCX_PROBE_SCAN_LIST);
	if (!thread)
		return 0;
	count_if_cold(thread, tick);
	if (thread->cause != IOCX_CAUSE_SCAN)
		return 0;
	list = scan_list_of(thread);
	if (!list)
		return 0;
	list->slot = thread->slot;
	__builtin_memcpy(list->comm, thread->comm, sizeof(list->comm));
	list->sp = PT_REGS_SP(ctx);
	list->start_ns = now;
	note_own_time(thread, &thread->counts.entry_ns,
		      IS_MEASURED(thread->counts.last_tick, thread->counts.entries) ? now : 0);
	return 0;
}

static __always_inline int finish_scan(const struct iocx_thread *thread, __u64 sp, __u64 now)
{
	__u64 id = thread->owner;
	struct iocx_scan_list *list = bpf_map_lookup_elem(&scan_lists, &id);
	struct iocx_ioc_config *config = bpf_map_lookup_elem(&ioc_config, &thread->slot);

	if (!list || !config || !list->start_ns || list->sp != sp)
		return 0;
	if (list->start_ns >= config->scans_since_ns) {
		add_duration(&list->sum_ns, list->buckets, now - list->start_ns);
		list->end_ns = now;
	}
	list->start_ns = 0;
	return 0;
}

ENTRY_PROGRAM(scan, on_scan_entry)

SEC("uprobe")
int scan_end(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns(), tick = bpf_jiffies64(), sp;
	struct iocx_thread *thread = thread_of(bpf_get_current_pid_tgid());

	if (!thread)
		return 0;
	count_return(thread, 0);
	count_if_cold(thread, tick);
	if (thread->cause != IOCX_CAUSE_SCAN)
		return 0;
	sp = sp_of_ending(ctx, thread->slot, IOCX_ENDING_SCAN);
	if (sp)
		finish_scan(thread, sp, now);
	note_own_time(thread, &thread->counts.end_ns,
		      IS_MEASURED(thread->counts.last_tick, thread->counts.returns) ? now : 0);
	return 0;
}

#endif
