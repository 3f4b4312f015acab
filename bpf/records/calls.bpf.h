/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Handlers for the entry and the ends of dbProcess. */
#ifndef IOC_EXPORTER_BPF_RECORD_CALLS_H
#define IOC_EXPORTER_BPF_RECORD_CALLS_H

/*
 * Counts a call of a thread that has no stack, without a duration, by what is known at its entry. Reads the fields
 * one by one, since its caller on_entry() uses most of the BPF stack. Without a stack there is no mark either: the call in
 * which user space switches the kind of attachment is lost.
 */
static __noinline int count_without_stack(struct pt_regs *ctx, __u64 id, __u64 record, __u32 attach)
{
	struct iocx_ioc_config *config;
	enum verdict verdict;
	__u32 *slot;

	config = config_of_process(id, &slot);
	if (!config || config->attach != kind_of_attachment(ctx, attach))
		return 0;
	verdict = verdict_alone(config, record);
	if (verdict == IS_ACTIVE || verdict == IS_DISABLED)
		count_skipped(*slot, record, verdict == IS_DISABLED);
	else
		count_threadless(*slot, config->generation, record, config->ends);
	return 0;
}

/*
 * The thread that has entered dbProcess; NULL when it is not watched, or only by another attachment. While an IOC is
 * paused and others need the attachment, only the hit is counted.
 */
static __always_inline struct iocx_thread *entered_thread(struct pt_regs *ctx, __u64 id, __u64 record,
							  struct iocx_ioc_config **config, __u8 attach)
{
	struct iocx_thread *thread;
	int no_room;

	thread = watched_thread(id, config, &no_room);
	if (no_room)
		count_without_stack(ctx, id, record, attach);
	if (!thread)
		return NULL;
	if (is_counted_by(ctx, thread, *config, attach))
		return thread;
	if (!(*config)->attach)
		count_hit(thread, *config, IOCX_PROBE_PROCESS);
	return NULL;
}

/* 1 + the index of the frame of the dbProcess that a call at `depth` is made within; 0: there is none. */
static __always_inline __u32 timer_at(struct iocx_thread *thread, __u32 depth)
{
	const struct iocx_frame *below;

	if (depth == 0 || depth > IOCX_MAX_DEPTH)
		return 0;
	below = frame_at(thread, depth - 1);
	return below->state == IOCX_FRAME_DIRECT ? below->weight : depth;
}

/* Pushes a frame for the call. NULL: the stack of the thread is full. */
static __always_inline struct iocx_frame *push_frame(struct pt_regs *ctx, struct iocx_thread *thread, __u64 record,
						     const struct entry_facts *facts, enum iocx_frame_state state)
{
	struct iocx_frame *frame;
	__u32 depth = thread->depth;

	if (depth >= IOCX_MAX_DEPTH)
		return NULL;
	frame = frame_at(thread, depth);
	frame->sp = PT_REGS_SP(ctx);
	frame->record = record;
	frame->child_ns = 0;
	frame->returns_to = facts->returns_to;
	frame->state = state;
	frame->cause = facts->cause;
	frame->severity = facts->severity < IOCX_SEVERITIES ? facts->severity : IOCX_SEVERITIES;
	frame->weight = state == IOCX_FRAME_DIRECT ? timer_at(thread, depth) : 1;
	frame->flags = 0;
	if (depth > 0)
		frame_at(thread, depth - 1)->flags &= ~IOCX_FRAME_CHILD_LEFT;
	thread->depth = depth + 1;
	return frame;
}

/* Counts a call whose end will not be seen. Its frame is there for the records that it processes in turn. */
static __always_inline int count_by_entry(struct pt_regs *ctx, struct iocx_thread *thread,
					  const struct iocx_ioc_config *config, __u64 record,
					  const struct entry_facts *facts)
{
	/* A link decides whether the record is disabled: assumed to be as at its last call. */
	if (facts->verdict == UNDECIDED && was_disabled(config, record))
		return count_skipped(thread->slot, record, 1);
	count_at_entry(thread, record, facts->cause ? BY_CAUSE(facts->cause) : parent_at(thread, thread->depth),
		       facts->severity);
	push_frame(ctx, thread, record, facts, IOCX_FRAME_UNTIMED);
	return 0;
}

/* The frame of the call that a call at `depth` is made within; NULL: there is none, or nothing times it. */
static __always_inline struct iocx_frame *timed_parent(struct iocx_thread *thread, __u32 depth)
{
	const __u32 timer = timer_at(thread, depth);

	return timer && timer <= depth ? frame_at(thread, timer - 1) : NULL;
}

/*
 * The number of calls that this timed call stands for; 0: it is not timed. Calls within a timed call are timed, too, for its
 * self time.
 */
static __always_inline __u32 weight_at_entry(struct iocx_thread *thread, const struct iocx_ioc_config *config)
{
	const struct iocx_frame *parent;

	if (!config->timed)
		return 0;
	parent = timed_parent(thread, thread->depth);
	if (parent)
		return parent->state <= IOCX_FRAME_UNDECIDED ? parent->weight : 0;
	if (config->timed_until_ns == ~0ULL || bpf_ktime_get_ns() < config->timed_until_ns)
		return config->weight;
	return 0;
}

/* A call that does not process its record, as is seen at its entry. */
static __always_inline int skip_call(struct iocx_thread *thread, __u64 record, int disabled)
{
	count_skipped(thread->slot, record, disabled);
	if (!disabled)
		leave_line(thread, record);
	on_frame(disabled ? CALL_DISABLED : CALL_ACTIVE, thread->owner, record);
	return 0;
}

#define MENU_SCAN_EVENT 1 /* menuScan.dbd, the same from 3.14 to 7.0 */
#define MENU_SCAN_IO_INTR 2

/*
 * The cause of a call that scanList() makes, but not for a periodic scan: events and I/O interrupts, in callback threads or,
 * by scanIoImmediate(), in others. A record is in one such list, the one that its SCAN says. 0: another has made the call.
 */
static __always_inline __u32 scan_cause(struct pt_regs *ctx, const struct iocx_thread *thread,
					const struct iocx_ioc_config *config, __u64 record, __u64 returns_to)
{
	__u16 scan = 0;

	if (thread->cause != IOCX_CAUSE_CALLBACK && thread->cause != IOCX_CAUSE_OTHER)
		return 0;
	if (returns_to - PT_REGS_IP(ctx) - config->scan_from >= config->scan_size)
		return 0;
	if (bpf_probe_read_user(&scan, sizeof(scan), (void *)(record + config->scan)))
		count_drop(IOCX_RECORD_DROP_READ);
	return scan == MENU_SCAN_EVENT ? IOCX_CAUSE_EVENT : scan == MENU_SCAN_IO_INTR ? IOCX_CAUSE_IO_INTR : 0;
}

static __always_inline int on_entry(struct pt_regs *ctx, __u8 attach)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u64 record = PT_REGS_PARM1(ctx);
	struct iocx_ioc_config *config;
	struct iocx_thread *thread;
	struct entry_facts facts;
	struct iocx_frame *frame;
	/* To read the clock takes as long as to count. */
	const __u64 tick = bpf_jiffies64();
	__u64 begin = tick % 17 ? 0 : bpf_ktime_get_ns();
	__u32 weight;

	thread = entered_thread(ctx, id, record, &config, attach);
	if (!thread)
		return 0;
	settle_frames(thread, config, ctx);
	thread->ends = config->ends;
	count_hit(thread, config, IOCX_PROBE_PROCESS);
	count_if_cold(thread, tick);
	if (!begin && IS_MEASURED(tick, thread->counts.entries))
		begin = bpf_ktime_get_ns();

	facts = facts_of(config, record);
	/* A periodic scan makes all its calls at one place of its stack: the next one's stack pointer ends it (settle_frames()). */
	if (thread->depth || thread->cause != IOCX_CAUSE_SCAN)
		facts.returns_to = return_address(ctx);
	if (facts.verdict == IS_ACTIVE || facts.verdict == IS_DISABLED)
		return skip_call(thread, record, facts.verdict == IS_DISABLED);
	if (thread->depth == 0 && config->scan_size)
		facts.cause = scan_cause(ctx, thread, config, record, facts.returns_to);
	weight = weight_at_entry(thread, config);
	if (!weight) {
		count_by_entry(ctx, thread, config, record, &facts);
		note_own_time(thread, &thread->counts.entry_ns, begin);
		return 0;
	}
	frame = push_frame(ctx, thread, record, &facts,
			   facts.verdict == UNDECIDED ? IOCX_FRAME_UNDECIDED : IOCX_FRAME_TIMED);
	if (!frame) {
		count_elsewhere(thread, record, parent_of_call(thread), IOCX_SEVERITIES);
		on_frame(CALL_TOO_DEEP, id, record);
		return 0;
	}
	frame->weight = weight;
	frame->start_ns = bpf_ktime_get_ns();
	on_frame(FRAME_PUSHED, id, CALLERS(ctx));
	note_own_time(thread, &thread->counts.entry_ns, begin);
	return 0;
}

/*
 * Notes that a record has returned with PACT set, and so completes later. Checks only some calls, unless PACT is `known`
 * to be set.
 */
static __always_inline void note_asynchronous(const struct iocx_ioc_config *config, __u32 slot,
					      struct iocx_record_stats *stats, __u64 record, __u64 start_ns,
					      __u32 weight, int known)
{
	if (!known && !stats->asynchronous && stats->processed > 8 && stats->processed & 63 && !stats->skipped_active)
		return;
	if (!known && !read_pact(config, record))
		return forget_completion(slot, stats);
	stats->async_weight = weight;
	stats->asynchronous = 1;
	if (!stats->async_start_ns)
		count_pending(slot, 1);
	stats->async_start_ns = start_ns;
}

/* A timed call of a record, as it ends. */
struct timed_call {
	__u64 record, parent;
	__u64 start_ns, sum_ns, self_ns; /* the last two are for all calls that it stands for */
	__u32 bucket, weight, severity;
	int active; /* PACT is known to be set */
};

/* Counts it in the record's line, whose index is the thread's last. */
static __noinline int count_timed_in_line(struct iocx_thread *thread, const struct timed_call *call)
{
	struct iocx_record_line *line;
	struct iocx_record_stats *stats;
	struct iocx_ioc_config *config;
	struct iocx_line_times *times;
	__u32 index;

	if (!thread || !call)
		return 0;
	index = thread->lines.last;
	line = bpf_map_lookup_elem(&record_lines, &index);
	times = bpf_map_lookup_elem(&line_times, &index);
	config = bpf_map_lookup_elem(&ioc_config, &thread->slot);
	if (!line || !times || !config)
		return 0;
	line->ends = thread->ends;
	times->timed += 1;
	times->sum_ns += call->sum_ns;
	times->self_ns += call->self_ns;
	if (!add_to_slot(times, call->bucket, call->weight))
		count_in_bucket(thread->slot, call->record, call->bucket, call->weight);
	count_transition(thread, &line->severity, call->severity);
	count_by_cause(thread, call->record, call->parent);
	if (!call->active && (times->timed & 63 || !read_pact(config, call->record)))
		return 0;
	leave_line(thread, call->record);
	stats = stats_of(thread->slot, call->record);
	if (stats)
		note_asynchronous(config, thread->slot, stats, call->record, call->start_ns, call->weight, 1);
	return 0;
}

/* Returns 0 when there is no room for the record: the call is counted as dropped. */
static __always_inline int count_timed(struct iocx_thread *thread, const struct iocx_ioc_config *config,
				       const struct timed_call *call)
{
	struct iocx_record_stats *stats;

	if (find_line(thread, call->record, &stats)) {
		count_timed_in_line(thread, call);
		return 1;
	}
	if (!stats)
		return 0;
	stats->ends = thread->ends;
	stats->sum_ns += call->sum_ns;
	stats->self_ns += call->self_ns;
	add_to_bucket(stats, call->bucket, call->weight);
	count_transition(thread, &stats->severity, call->severity);
	count_processed(thread, stats, call->record, call->parent);
	note_asynchronous(config, thread->slot, stats, call->record, call->start_ns, call->weight, call->active);
	try_for_line(thread, stats, call->record);
	return 1;
}

/* The call that was entered with the stack pointer `sp` ends now. */
static __always_inline int finish_call(struct iocx_thread *thread, __u64 sp, __u64 now)
{
	struct timed_call call = {};
	struct iocx_ioc_config *config;
	struct iocx_frame *frame;
	__u64 duration, record;
	__u32 depth;
	int disabled;

	frame = pop_frame(thread, sp);
	if (!frame)
		return 0;
	learn_trampoline(thread, frame);
	if (frame->state >= IOCX_FRAME_UNTIMED)
		return 0;
	call.record = record = frame->record;
	config = bpf_map_lookup_elem(&ioc_config, &thread->slot);
	if (!config)
		return 0;
	disabled = frame->state == IOCX_FRAME_UNDECIDED && was_disabled(config, record);
	call.active = on_frame(disabled ? FRAME_DISABLED : FRAME_POPPED, thread->owner, now);
	if (disabled) {
		count_skipped(thread->slot, record, 1);
		return 0;
	}
	duration = now - frame->start_ns;
	call.bucket = iocx_hist_slot(duration);
	if (call.bucket >= IOCX_HIST_SLOTS)
		return 0;
	depth = thread->depth;
	call.parent = parent_of(thread, frame, depth);
	call.start_ns = frame->start_ns;
	call.weight = frame->weight;
	call.severity = frame->severity;
	call.sum_ns = duration * call.weight;
	call.self_ns = (duration > frame->child_ns ? duration - frame->child_ns : 0) * call.weight;
	thread->ends = frame->start_ns < config->ends_since_ns ? 0 : config->ends | !!(frame->flags & IOCX_FRAME_ENDED);
	if (!count_timed(thread, config, &call))
		return 0;
	thread->counts.timed += 1;
	frame = timed_parent(thread, depth);
	if (frame)
		frame->child_ns += duration;
	return 0;
}

/* A place where dbProcess ends, or may end. */
static __always_inline int on_end(struct pt_regs *ctx)
{
	const __u64 tick = bpf_jiffies64();
	__u64 now = bpf_ktime_get_ns(), sp;
	struct iocx_thread *thread = thread_of(bpf_get_current_pid_tgid());

	if (!thread)
		return 0;
	count_return(thread, 0);
	count_if_cold(thread, tick);
	sp = sp_of_ending(ctx, thread->slot, IOCX_ENDING_PROCESS);
	if (!sp)
		return 0;
	finish_call(thread, sp, now);
	note_own_time(thread, &thread->counts.end_ns,
		      IS_MEASURED(thread->counts.last_tick, thread->counts.returns) ? now : 0);
	return 0;
}

#endif
