/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * recGblFwdLink() ends every processing, synchronous or not (recGbl.c). It times asynchronous records from the start of
 * dbProcess to their completion, and counts processings that do not come through dbProcess. All records pay for the
 * probe: it is only attached to IOCs that have asynchronous records, while timed calls of theirs are under way or may
 * begin; for a second now and then to others; and for good where such processings were seen.
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
	return add_within(room, completions, &record, zeroes);
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

enum end_of {
	OWED, /* the end of the record's last dbProcess */
	OF_ITS_OWN,
	UNKNOWN_END /* that dbProcess was before this era: it may have had its end or not */
};

/* Notes that the record's last processing has had its end, and says whose this end is. */
static __noinline enum end_of note_end(const struct iocx_thread *thread, __u64 record, __u16 ends)
{
	struct iocx_record_stats *stats;
	struct iocx_record_line *line;
	__u16 *of_record, before;

	if (!thread)
		return OWED;
	line = line_at(thread->lines.last, thread->generation, record);
	if (!line || line->left) {
		stats = stats_of(thread->slot, record);
		if (!stats)
			return OWED;
		line = line_of(thread->generation, stats, record);
		of_record = line ? &line->ends : &stats->ends;
	} else {
		of_record = &line->ends;
	}
	before = *of_record;
	*of_record = ends | IOCX_ENDS_SEEN;
	if (before == ends)
		return OWED;
	return before == (ends | IOCX_ENDS_SEEN) ? OF_ITS_OWN : UNKNOWN_END;
}

/* So that user space lets the probe stay. */
static __always_inline void note_direct(__u32 slot, enum iocx_direct what)
{
	struct iocx_asynchronous *asynchronous = bpf_map_lookup_elem(&ioc_asynchronous, &slot);

	if (asynchronous && !(asynchronous->direct & what))
		asynchronous->direct |= what;
}

/*
 * Counts a processing that dbProcess has not begun. What recGblFwdLink() processes in turn, the record processes:
 * therefore the call has a frame. SEVR is the result of this processing already.
 */
static __always_inline int count_direct(struct pt_regs *ctx, struct iocx_thread *thread,
					const struct iocx_ioc_config *config, __u64 record)
{
	struct entry_facts facts = {PROCESSES, IOCX_SEVERITIES, 0, return_address(ctx)};
	struct iocx_frame *frame = live_frame(thread, config, ctx);
	const __u64 parent = frame ? frame->record : BY_CAUSE(IOCX_CAUSE_DIRECT);
	__u16 severity = 0;

	if (bpf_probe_read_user(&severity, sizeof(severity), (void *)(record + config->sevr)))
		count_drop(IOCX_RECORD_DROP_READ);
	else
		facts.severity = severity;
	settle_frames(thread, config, ctx);
	thread->ends = config->ends | IOCX_ENDS_SEEN;
	count_at_entry(thread, record, parent, facts.severity);
	frame = push_frame(ctx, thread, record, &facts, IOCX_FRAME_DIRECT);
	if (!frame || !cfg_traces)
		return 0;
	frame->start_ns = bpf_ktime_get_ns();
	return on_frame(FRAME_DIRECT, thread->owner, 0);
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
	enum end_of end;
	void *records;
	int no_room;

	thread = watched_thread(id, &config, &no_room);
	if (!thread || !is_counted_by(ctx, thread, config, attach))
		return 0;
	if (config->ends_count)
		count_hit(thread, config, IOCX_PROBE_COMPLETION);
	else
		count_return(thread, config->stepped >> IOCX_PROBE_COMPLETION & 1); /* there for durations only */
	/* What a stale frame says of its record's end is to be noted before this one is looked at. */
	if (config->ends && config->epoch != thread->epoch) {
		discard_frames(thread, ~0ULL, 1);
		thread->epoch = config->epoch;
	}
	frame = live_frame_of(thread, config, ctx, record);
	if (frame) { /* within dbProcess of the record: synchronous */
		frame->flags |= IOCX_FRAME_ENDED;
		if (config->ends && frame->state == IOCX_FRAME_UNTIMED)
			note_end(thread, record, config->ends);
		return 0;
	}
	records = bpf_map_lookup_elem(&ioc_records, &thread->slot);
	stats = records ? bpf_map_lookup_elem(records, &record) : NULL;
	start = stats ? stats->async_start_ns : 0;
	if (cfg_traces)
		record_completed(id, record, PT_REGS_SP(ctx), return_address(ctx), start);
	if (config->ends) {
		end = note_end(thread, record, config->ends);
		if (end == UNKNOWN_END && !start)
			note_direct(thread->slot,
				    stats && stats->asynchronous ? IOCX_DIRECT_UNSURE : IOCX_DIRECT_PERHAPS);
		if (end == OF_ITS_OWN) {
			note_direct(thread->slot, IOCX_DIRECT_COUNTED);
			return count_direct(ctx, thread, config, record);
		}
	}
	if (!stats || !start)
		return 0;
	forget_completion(thread->slot, stats);
	return count_completion(thread->slot, record, bpf_ktime_get_ns() - start, stats->async_weight);
}

ENTRY_PROGRAM(completion, on_completion)

#endif
