/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Times asynchronous records from the start of dbProcess to their completion, recGblFwdLink(). That function ends
 * every processing, synchronous or not (recGbl.c), so that all records pay for the probe: it is only attached to
 * IOCs that have asynchronous records, and only while timed calls of theirs are under way or may begin.
 */
#ifndef IOC_EXPORTER_BPF_RECORD_COMPLETION_H
#define IOC_EXPORTER_BPF_RECORD_COMPLETION_H

/* Each IOC has a map of its own. It is freed as a whole when the IOC ends. */
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

/* Zeroes, to copy for a new record. Never written. */
MAP(zero_completion, ARRAY, 1, __u32, struct iocx_completion);

static __noinline int add_completion(__u32 slot, __u64 record)
{
	const struct iocx_completion *zeroes = only_element(&zero_completion);
	void *completions = bpf_map_lookup_elem(&ioc_completions, &slot);
	__u32 index = IOCX_COMPLETIONS_ROOM(slot);
	struct iocx_room *room = bpf_map_lookup_elem(&record_rooms, &index);

	if (!completions || !room || !zeroes)
		return 0;
	return add_within(room, completions, &record, zeroes, IOCX_RECORD_DROP_COMPLETIONS_FULL);
}

static __noinline int count_completion(__u32 slot, __u64 record, __u64 duration, __u32 weight)
{
	struct iocx_completion *completion;
	void *completions;

	completions = bpf_map_lookup_elem(&ioc_completions, &slot);
	if (!completions)
		return 0; /* the IOC has ended and its probe is about to be detached */
	completion = bpf_map_lookup_elem(completions, &record);
	if (!completion && add_completion(slot, record))
		completion = bpf_map_lookup_elem(completions, &record);
	if (!completion)
		return 0;
	add_durations(&completion->sum_ns, completion->buckets, duration, weight);
	return 0;
}

/* recGblFwdLink(void *record): the record's lock set is locked, also when a callback completes it. */
static __always_inline int on_completion(struct pt_regs *ctx, __u8 attach)
{
	__u64 id = bpf_get_current_pid_tgid(), start;
	__u64 record = PT_REGS_PARM1(ctx);
	struct iocx_record_stats *stats;
	struct iocx_ioc_config *config;
	struct iocx_thread *thread;
	struct iocx_frame *frame;
	void *records;
	int no_room;

	thread = watched_thread(id, &config, &no_room);
	if (!thread || !is_counted_by(ctx, config, attach))
		return 0;
	thread->counts.returns += 1; /* as the ends, it is there for durations only */
	frame = live_frame(thread, config, ctx);
	if (frame && frame->record == record)
		return 0; /* within dbProcess of the record: synchronous */
	records = bpf_map_lookup_elem(&ioc_records, &thread->slot);
	stats = records ? bpf_map_lookup_elem(records, &record) : NULL;
	start = stats ? stats->async_start_ns : 0;
	if (cfg_traces)
		trace_completed(id, record, PT_REGS_SP(ctx), return_address(ctx), start);
	if (!stats || !start)
		return 0;
	forget_completion(thread->slot, stats);
	return count_completion(thread->slot, record, bpf_ktime_get_ns() - start, stats->async_weight);
}

ENTRY_PROGRAMS(completion, on_completion)

#endif
