/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * dbProcess with a session probe (Linux 6.13): one program for entry and return, which decides at each entry
 * whether the kernel runs it at the return. A call without a return probe costs little more than half. So every
 * call is counted at its entry, but of a busy record only one call in n is timed, with the weight n:
 * shared/sampling.h says which.
 *
 * A call that is not timed has a frame too: it is the parent of the records that it processes in turn. Nothing runs
 * when it returns: see is_over().
 */
#ifndef IOC_EXPORTER_BPF_RECORD_SESSION_H
#define IOC_EXPORTER_BPF_RECORD_SESSION_H

#define WANT_RETURN 0 /* what a session program returns at entry */
#define NO_RETURN 1

/* A call within a timed call is timed too, so that the time of the outer one without its children is known. */
static __always_inline int parent_is_timed(struct iocx_thread *thread)
{
	__u32 depth = thread->depth;

	return depth > 0 && depth <= IOCX_MAX_DEPTH && frame_at(thread, depth - 1)->state <= IOCX_FRAME_UNDECIDED;
}

/* The weight of a call whose turn it is to be timed. */
static __noinline int take_sample(struct iocx_record_stats *stats, __u64 now, __u32 rate)
{
	if (!stats)
		return 0;
	return (int)iocx_sample_take(&stats->sampler, now, rate, stats->processed, bpf_get_prandom_u32());
}

/* How many calls this one stands for (shared/sampling.h); 0: it is not timed. */
static __always_inline __u32 weight_of_call(struct iocx_thread *thread, const struct iocx_ioc_config *config,
					    struct iocx_record_stats *stats, __u64 now)
{
	if (!cfg_timed_rate)
		return 1;
	if (iocx_sample_is_first(&stats->sampler, now, config->quiet_ns) || stats->asynchronous ||
	    config->attach & IOCX_ATTACH_SWITCHING || parent_is_timed(thread))
		return 1;
	if (!stats->sampler.skip)
		return (__u32)take_sample(stats, now, config->timed_rate);
	stats->sampler.skip -= 1;
	return 0;
}

/* Decides on a call that processes its record: returns its weight. Counts it when that is 0. */
static __always_inline __u32 decide(struct iocx_thread *thread, const struct iocx_ioc_config *config, __u64 record,
				    const struct entry_facts *facts, __u64 now)
{
	struct iocx_record_stats *stats = stats_of(thread->slot, record);
	__u32 weight;

	if (!stats)
		return 0; /* dropped */
	weight = weight_of_call(thread, config, stats, now);
	if (!weight) {
		count_transition(thread, &stats->severity, facts->severity);
		count_processed(thread, stats, record, parent_of_call(thread));
	}
	return weight;
}

/* The entry of a call that processes its record, or may. */
static __always_inline int session_processes(struct pt_regs *ctx, struct iocx_thread *thread,
					     const struct iocx_ioc_config *config, __u64 record,
					     const struct entry_facts *facts)
{
	__u64 now = bpf_ktime_get_ns();
	struct iocx_frame *frame;
	__u32 weight = 1;

	if (thread->depth >= IOCX_MAX_DEPTH) {
		count_untimed(thread, record, UNKNOWN_PARENT, IOCX_SEVERITIES);
		if (cfg_traces)
			trace_too_deep(thread->owner);
		return NO_RETURN;
	}
	if (facts->verdict == PROCESSES)
		weight = decide(thread, config, record, facts, now);
	frame = push_frame(thread, PT_REGS_SP(ctx), record, facts, kind_of_attachment(ctx, config, 0));
	if (!frame)
		return NO_RETURN;
	if (!weight) {
		frame->state = IOCX_FRAME_UNTIMED;
		frame->start_ns = return_address(ctx);
		if (!frame->start_ns)
			count_drop(IOCX_RECORD_DROP_READ);
		return NO_RETURN;
	}
	frame->state = facts->verdict == UNDECIDED ? IOCX_FRAME_UNDECIDED : IOCX_FRAME_TIMED;
	frame->weight = weight;
	frame->start_ns = now;
	if (cfg_traces)
		trace_entered(thread->owner, CALLERS(ctx));
	return WANT_RETURN;
}

static __always_inline int session_entry(struct pt_regs *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u64 sp = PT_REGS_SP(ctx), record = PT_REGS_PARM1(ctx);
	struct iocx_ioc_config *config;
	struct iocx_thread *thread;
	struct entry_facts facts;
	struct iocx_frame *frame;

	thread = entered_thread(ctx, id, record, &config, 0);
	if (!thread)
		return NO_RETURN;
	if (is_second(ctx, thread, config, sp, 0))
		return WANT_RETURN;
	settle_frames(thread, config, ctx);
	thread->counts.entries += 1;
	/* From the outermost call only: calls that nest too deep get no return probe. */
	if (cfg_timed_rate && thread->depth == 1 && parent_is_timed(thread))
		learn_trampoline(thread, frame_at(thread, 0));
	facts = facts_of(config, record);
	if (config->triggers)
		note_trigger(ctx, thread, config, record, facts.verdict);
	if (facts.verdict == PROCESSES || facts.verdict == UNDECIDED)
		return session_processes(ctx, thread, config, record, &facts);
	skip_call(thread, id, record, facts.verdict);
	if (!(config->attach & IOCX_ATTACH_SWITCHING))
		return NO_RETURN;
	frame = push_frame(thread, sp, record, &facts, kind_of_attachment(ctx, config, 0));
	if (frame)
		frame->state = IOCX_FRAME_SKIPPED;
	return WANT_RETURN;
}

/* bpf_get_func_ip() is the address of the function in both cases; at the return the IP is in the caller. */
static __always_inline int on_session(struct pt_regs *ctx)
{
	if (PT_REGS_IP(ctx) == bpf_get_func_ip(ctx))
		return session_entry(ctx);
	on_return(ctx);
	return 0;
}

#endif
