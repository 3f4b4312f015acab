/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The stack of dbProcess calls of a thread. A frame has the stack pointer of its call: by that an end finds its
 * frame, and a new call knows which calls it is made within.
 */
#ifndef IOC_EXPORTER_BPF_RECORD_FRAMES_H
#define IOC_EXPORTER_BPF_RECORD_FRAMES_H

/*
 * The return address of a function that was just entered; 0 when it cannot be read. On x86 it is on the stack, where it
 * shows later whether the call is over. On arm64 a register holds it, and the function saves it where it likes, with
 * the frame pointer of its caller: such frame records are linked, from the callers of a function, which begin at
 * CALLERS(), up the stack.
 */
#if defined(__TARGET_ARCH_x86)
#define CALLERS(ctx) 0
#define OUTERMOST_FIRST 1 /* one read of the stack says whether all calls are over */

static __always_inline __u64 return_address(struct pt_regs *ctx)
{
	__u64 address = 0;

	bpf_probe_read_user(&address, sizeof(address), (void *)PT_REGS_SP(ctx));
	return address;
}
#else
#define CALLERS(ctx) PT_REGS_FP(ctx)
#define OUTERMOST_FIRST 0 /* it is the farthest, and under way when the innermost is */
#define return_address(ctx) PT_REGS_RET(ctx)
#endif

/* The stack pointer at the entry of the function that ends at the place that was hit; 0: it goes on. */
static __always_inline __u64 sp_of_ending(struct pt_regs *ctx, __u32 slot, enum iocx_ending_function function)
{
	__u32 index = slot * IOCX_ENDING_FUNCTIONS + function;
	struct iocx_function_ends *ends = bpf_map_lookup_elem(&function_ends, &index);

	return ends ? sp_at_entry(ctx, ends) : 0;
}

#define MINIMUM_PAGE 4096

/* Frame `index` of a thread; it must be less than the depth. */
static __always_inline struct iocx_frame *frame_at(struct iocx_thread *thread, __u32 index)
{
	/* Hides the index from the compiler, which would leave out the mask that the verifier needs. */
	asm volatile("" : "+r"(index));
	return &thread->frames[index & (IOCX_MAX_DEPTH - 1)];
}

/* The record of the frame below `depth`, 0 at the bottom. */
static __always_inline __u64 parent_at(struct iocx_thread *thread, __u32 depth)
{
	return depth > 0 && depth <= IOCX_MAX_DEPTH ? frame_at(thread, depth - 1)->record : 0;
}

/* The same for a call whose frame was at `depth`; BY_CAUSE() when scanList() has made it. */
static __always_inline __u64 parent_of(struct iocx_thread *thread, const struct iocx_frame *frame, __u32 depth)
{
	if (depth == 0 && frame->cause)
		return BY_CAUSE(frame->cause);
	return parent_at(thread, depth);
}

/* The record that makes a call which has no frame yet; 0 when there is none. */
static __always_inline __u64 parent_of_call(struct iocx_thread *thread)
{
	__u32 depth = thread->depth;

	return depth >= IOCX_MAX_DEPTH ? UNKNOWN_PARENT : parent_at(thread, depth);
}

/* The depth, read again so that the verifier forgets its value: else it follows every depth after a loop. */
static __always_inline __u32 depth_of(struct iocx_thread *thread)
{
	return *(volatile __u32 *)&thread->depth;
}

/* Pops frames at or below `sp` until one is on top that is not counted yet, and returns that one; NULL: there is none. */
static __always_inline struct iocx_frame *pop_counted(struct iocx_thread *thread, __u64 sp)
{
	struct iocx_frame *frame;
	__u32 depth, i;

	for (i = 0; i < IOCX_MAX_DEPTH; i++) {
		depth = depth_of(thread);
		if (depth == 0 || depth > IOCX_MAX_DEPTH)
			return NULL;
		frame = frame_at(thread, depth - 1);
		if (frame->sp > sp)
			return NULL;
		if (frame->state < IOCX_FRAME_UNTIMED)
			return frame;
		thread->depth = depth - 1;
	}
	return NULL;
}

/* Why a frame is discarded. */
enum lost {
	LEFT,  /* an exception has left its call */
	UNSEEN /* the probes were detached for a while */
};

static __noinline int count_unwound(__u32 slot, __u64 record)
{
	struct iocx_record_stats *stats = stats_of(slot, record);

	if (stats)
		stats->unwound += 1;
	return 0;
}

/*
 * Discards one frame of the calling thread whose return was lost, with those above it; returns 0 when there is none. A
 * global function: the verifier follows it once, not for each way through the loops around it. Before 5.12 those take
 * no pointers, so that it looks the thread up. `why`: enum lost.
 */
__noinline int discard_lost(__u64 sp, __u32 why)
{
	struct iocx_thread *thread = thread_of(bpf_get_current_pid_tgid());
	struct iocx_frame *frame = thread ? pop_counted(thread, sp) : NULL;
	__u32 depth;

	if (!frame)
		return 0;
	depth = depth_of(thread) - 1;
	thread->depth = depth;
	thread->ends = (thread->ends & ~IOCX_ENDS_SEEN) | !!(frame->flags & IOCX_FRAME_ENDED);
	on_frame(FRAME_LOST, thread->owner, 0);
	if (why == LEFT) {
		count_drop(IOCX_RECORD_DROP_UNWOUND);
		if (!(frame->flags & IOCX_FRAME_CHILD_LEFT))
			count_unwound(thread->slot, frame->record);
		if (depth > 0 && depth <= IOCX_MAX_DEPTH)
			frame_at(thread, depth - 1)->flags |= IOCX_FRAME_CHILD_LEFT;
	}
	count_elsewhere(thread, frame->record, parent_of(thread, frame, depth), IOCX_SEVERITIES);
	return 1;
}

/*
 * Discards the frames of finished calls: those at or below `sp` (stacks grow down). A timed one among them has lost
 * its end (an exception went through it, the thread was ended, a probe was detached): it is counted without a
 * duration; those are rare. `unseen`: the probes were detached for a while, so that a lost return is no drop.
 */
static __always_inline void discard_frames(struct iocx_thread *thread, __u64 sp, __u32 unseen)
{
	__u32 i;

	if (!pop_counted(thread, sp))
		return;
	for (i = 0; i < IOCX_MAX_DEPTH; i++)
		if (!discard_lost(sp, unseen ? UNSEEN : LEFT))
			return;
}

/*
 * Whether the calling thread finds, where the return address of a call was, that of the trampoline. A global function like
 * discard_lost().
 */
__noinline int is_trampoline(__u64 address)
{
	const struct iocx_thread *thread = thread_of(bpf_get_current_pid_tgid());
	const struct iocx_trampoline *trampoline;

	if (!thread)
		return 0;
	trampoline = bpf_map_lookup_elem(&ioc_trampolines, &thread->slot);
	if (trampoline && trampoline->generation == thread->generation)
		return address == trampoline->address;
	/* Not learned yet. It is where a page begins, in every version of the kernel (get_trampoline_vaddr()). */
	return address && !(address & (MINIMUM_PAGE - 1));
}

/*
 * Whether a call is over although no probe saw its end: its return address, which was `before` at `sp`, has been
 * overwritten, since its caller, or the function that caught an exception out of the call, has called something else (every
 * caller of dbProcess unlocks afterwards). The trampoline's address is no such sign: it stands there when another tool has
 * a return probe on the call.
 */
#if defined(__TARGET_ARCH_x86)
static __always_inline int return_is_gone(__u64 sp, __u64 before, __u64 callers)
{
	__u64 now = 0;

	(void)callers;
	if (bpf_probe_read_user(&now, sizeof(now), (void *)sp))
		return 1;
	return now != before && !is_trampoline(now);
}
#else
#define MOST_CALLERS 64 /* between two calls of dbProcess that have a frame; beyond, the outer one is left */
#define CODE_ADDRESS(address) ((address) & ((1ULL << 48) - 1)) /* without its signature (pointer authentication) */

/*
 * The same where a register holds the return address: the last call under way below `sp` is this one if it returns to
 * the same place. Needs frame pointers, which compilers omit on demand only; without them a call seems to end too early,
 * and records that it processes in turn have no parent. A global function like discard_lost().
 */
__noinline int return_is_gone(__u64 sp, __u64 before, __u64 callers)
{
	struct {
		__u64 next, returns_to;
	} record;
	__u32 i;

	for (i = 0; i < MOST_CALLERS; i++) {
		if (callers >= sp || bpf_probe_read_user(&record, sizeof(record), (void *)callers))
			return 1;
		if (record.next >= sp || !record.next)
			return CODE_ADDRESS(record.returns_to) != CODE_ADDRESS(before) &&
			       !is_trampoline(CODE_ADDRESS(record.returns_to));
		if (record.next <= callers)
			return 1;
		callers = record.next;
	}
	return 0;
}
#endif

/*
 * Whether the call of a frame of the calling thread is over. The record of recGblFwdLink() is active until this returns: what
 * is called next, by code that was not optimized, may leave its return address. A global function like discard_lost().
 */
__noinline int call_is_over(__u64 sp, __u64 returns_to, __u64 record, __u32 state, __u64 callers)
{
	const struct iocx_thread *thread;
	const struct iocx_ioc_config *config;

	asm volatile("" : "+r"(callers)); /* as in frame_pushed() */
	if (state == IOCX_FRAME_DIRECT) {
		thread = thread_of(bpf_get_current_pid_tgid());
		config = thread ? bpf_map_lookup_elem(&ioc_config, &thread->slot) : NULL;
		if (!config || !read_pact(config, record))
			return 1;
	}
	return returns_to && return_is_gone(sp, returns_to, callers);
}

static __always_inline int is_over(const struct iocx_frame *frame, __u64 callers)
{
	return call_is_over(frame->sp, frame->returns_to, frame->record, frame->state, callers);
}

#if defined(__TARGET_ARCH_x86)
/*
 * Learns the address of the trampoline: at the end of a call its return address has not changed, or somebody's return
 * probe has replaced it. Looks at one end in 64, since to read the stack costs more than most of what is done.
 */
static __always_inline void learn_trampoline(struct iocx_thread *thread, const struct iocx_frame *ending)
{
	struct iocx_trampoline *trampoline;
	__u64 address;

	if (thread->counts.returns & 63 || !ending->returns_to ||
	    bpf_probe_read_user(&address, sizeof(address), (void *)ending->sp) || address == ending->returns_to)
		return;
	trampoline = bpf_map_lookup_elem(&ioc_trampolines, &thread->slot);
	if (!trampoline || trampoline->generation == thread->generation)
		return;
	trampoline->address = address;
	barrier(); /* the generation makes the address valid */
	trampoline->generation = thread->generation;
}

#else
/* Only the function knows where on the stack it is. */
#define learn_trampoline(thread, ending) ((void)(ending))
#endif

/* Pops calls that are over though their end was not seen: all if the outermost is, else from the innermost on. */
static __noinline int drop_finished(struct iocx_thread *thread, __u64 callers)
{
	struct iocx_frame *frame;
	__u64 sp = ~0ULL;
	__u32 depth, i;

	if (!thread)
		return 0;
	if (!OUTERMOST_FIRST || !is_over(frame_at(thread, 0), callers)) {
		sp = 0;
		for (i = 0; i < IOCX_MAX_DEPTH; i++) {
			depth = depth_of(thread);
			if (depth < 1 + OUTERMOST_FIRST || depth > IOCX_MAX_DEPTH)
				return 0;
			frame = frame_at(thread, depth - 1);
			if (!is_over(frame, callers))
				return 0;
			if (frame->state < IOCX_FRAME_UNTIMED) { /* counted there; those outside of it at later calls */
				sp = frame->sp;
				break;
			}
			thread->depth = depth - 1;
		}
	}
	discard_frames(thread, sp, 0);
	return 0;
}

/*
 * Discards the frames of finished calls when a function is entered: those at or below its stack pointer; all frames
 * after the probes were detached for a while.
 */
static __always_inline void settle_frames(struct iocx_thread *thread, const struct iocx_ioc_config *config,
					  struct pt_regs *ctx)
{
	__u32 depth = depth_of(thread), stale = config->epoch != thread->epoch;
	__u64 limit = stale ? ~0ULL : PT_REGS_SP(ctx);

	if (depth > 0 && depth <= IOCX_MAX_DEPTH && frame_at(thread, depth - 1)->sp <= limit) {
		discard_frames(thread, limit, stale);
		depth = depth_of(thread);
	}
	thread->epoch = config->epoch;
	if (depth > 0 && depth <= IOCX_MAX_DEPTH &&
	    (frame_at(thread, 0)->returns_to || frame_at(thread, depth - 1)->returns_to))
		drop_finished(thread, CALLERS(ctx));
}

/* Pops the frame of the call that was entered with stack pointer `sp`; NULL when there is none. */
static __always_inline struct iocx_frame *pop_frame(struct iocx_thread *thread, __u64 sp)
{
	struct iocx_frame *frame;
	__u32 depth = thread->depth;

	if (depth == 0 || depth > IOCX_MAX_DEPTH)
		return NULL;
	frame = frame_at(thread, depth - 1);
	if (frame->sp < sp) {
		discard_frames(thread, sp - 1, 0);
		depth = depth_of(thread);
		if (depth == 0 || depth > IOCX_MAX_DEPTH)
			return NULL;
		frame = frame_at(thread, depth - 1);
	}
	if (frame->sp != sp) /* it was not pushed, or the program of another attachment has popped it */
		return NULL;
	thread->depth = depth - 1;
	return frame;
}

/*
 * The innermost dbProcess that the function is called within that was just entered, of the record when that is not 0; or
 * NULL. For probes on other functions: does not change the frames.
 */
static __always_inline struct iocx_frame *live_frame_of(struct iocx_thread *thread,
							const struct iocx_ioc_config *config, struct pt_regs *ctx,
							__u64 record)
{
	__u64 sp = PT_REGS_SP(ctx), callers = CALLERS(ctx);
	__u32 depth = depth_of(thread), i;
	struct iocx_frame *frame;

	if (config->epoch != thread->epoch || depth == 0 || depth > IOCX_MAX_DEPTH ||
	    (OUTERMOST_FIRST && is_over(frame_at(thread, 0), callers)))
		return NULL;
	for (i = 0; i < IOCX_MAX_DEPTH && i < depth; i++) {
		frame = frame_at(thread, depth - 1 - i);
		if (record && frame->record != record)
			continue;
		if (frame->sp > sp && !is_over(frame, callers))
			return frame;
	}
	return NULL;
}

static __always_inline struct iocx_frame *live_frame(struct iocx_thread *thread, const struct iocx_ioc_config *config,
						     struct pt_regs *ctx)
{
	return live_frame_of(thread, config, ctx, 0);
}

/*
 * Whether the thread is within the call, and not within a dbProcess that this has called. The probe may have been
 * detached before it returned, or an exception may have left it.
 */
static __always_inline int is_within(struct pt_regs *ctx, const struct iocx_noted_call *call,
				     const struct iocx_ioc_config *config, const struct iocx_frame *frame)
{
	if (PT_REGS_SP(ctx) >= call->sp || call->epoch != config->epoch)
		return 0;
	if (call->returns_to && return_is_gone(call->sp, call->returns_to, CALLERS(ctx)))
		return 0;
	return !frame || frame->sp > call->sp;
}

static __always_inline void note_call(struct pt_regs *ctx, struct iocx_noted_call *call,
				      const struct iocx_ioc_config *config)
{
	call->sp = PT_REGS_SP(ctx);
	call->epoch = config->epoch;
	call->returns_to = return_address(ctx);
}

#endif
