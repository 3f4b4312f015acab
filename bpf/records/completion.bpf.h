/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Times asynchronous records from the start of dbProcess to their completion: recGblFwdLink(), which ends
 * every processing, synchronous or not (recGbl.c). It is attached to IOCs that have such records only,
 * since all the others pay for it, too.
 */
#ifndef IOC_EXPORTER_BPF_RECORD_COMPLETION_H
#define IOC_EXPORTER_BPF_RECORD_COMPLETION_H

/* An IOC's own map; it is freed as a whole when the IOC ends. */
struct completions_of_ioc {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64); /* struct dbCommon * */
	__type(value, struct iocx_completion);
} ioc_completions_template SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, IOCX_MAX_IOCS);
	__type(key, __u32); /* slot */
	__array(values, struct completions_of_ioc);
} ioc_completions SEC(".maps") = {
	.values = {[0] = &ioc_completions_template},
};

/* Zeroes to start from. Never written. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct iocx_completion);
} zero_completion SEC(".maps");

static __noinline int count_completion(__u32 slot, __u64 record, __u64 duration)
{
	struct iocx_completion *completion;
	void *completions;

	completions = bpf_map_lookup_elem(&ioc_completions, &slot);
	if (!completions)
		return 0; /* the IOC's last hits before its probe goes */
	completion = find_or_add_zeroes(completions, &record, &zero_completion);
	if (!completion) {
		count_drop(IOCX_RECORD_DROP_COMPLETIONS_FULL);
		return 0;
	}
	add_duration(&completion->sum_ns, completion->buckets, duration);
	return 0;
}

/* recGblFwdLink(void *record): the record's lock set is locked, also when a callback completes it. */
static __always_inline int on_completion(struct pt_regs *ctx, __u8 attach)
{
	__u64 id = bpf_get_current_pid_tgid(), now, start;
	__u64 sp = PT_REGS_SP(ctx), record = PT_REGS_PARM1(ctx);
	struct iocx_record_stats *stats;
	struct iocx_ioc_config *config;
	struct iocx_thread *thread;
	struct iocx_frame *frame;
	void *records;

	thread = counted_thread(id, &config, attach);
	if (!thread)
		return 0;
	frame = live_frame(thread, config, sp);
	if (frame && frame->record == record)
		return 0; /* within its dbProcess: synchronous */
	records = bpf_map_lookup_elem(&ioc_records, &thread->slot);
	stats = records ? bpf_map_lookup_elem(records, &record) : NULL;
	if (!stats || !stats->async_start_ns)
		return 0;
	now = bpf_ktime_get_ns();
	start = stats->async_start_ns;
	stats->async_start_ns = 0;
	return count_completion(thread->slot, record, now - start);
}

ENTRY_PROGRAMS(completion, on_completion)

#endif
