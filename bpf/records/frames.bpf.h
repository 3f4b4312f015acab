/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The stack of dbProcess calls of a thread. A frame has the stack pointer of its call: by that a return finds its
 * frame, and a new call knows which calls it is made within.
 */
#ifndef IOC_EXPORTER_BPF_RECORD_FRAMES_H
#define IOC_EXPORTER_BPF_RECORD_FRAMES_H

/* What `ret` pops: the difference between the stack pointers at return and at entry. */
#if defined(__TARGET_ARCH_x86)
#define RETURN_ADDRESS_SIZE 8
#else
#define RETURN_ADDRESS_SIZE 0
#endif

#define IOCX_LOST_AT_ONCE 4 /* frames with a lost return that are discarded in one go */

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

/* Pops frames at or below `sp` until one is on top that is not counted yet. Returns that one, or NULL. */
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
		if (frame->state < IOCX_FRAME_SKIPPED)
			return frame;
		thread->depth = depth - 1;
	}
	return NULL;
}

/*
 * Discards the frames of finished calls: those at or below `sp` (stacks grow down). A timed one among them has lost
 * its return (the thread was ended, a probe was detached): it is counted without a duration. Those are rare, and a
 * few of them are discarded at a time. `unseen`: the probes were detached for a while, so that a lost return is no
 * drop.
 */
static __noinline int discard_frames(struct iocx_thread *thread, __u64 sp, __u32 unseen)
{
	__u32 depth, i;

	if (!thread)
		return 0;
	for (i = 0; i < IOCX_LOST_AT_ONCE; i++) {
		struct iocx_frame *frame = pop_counted(thread, sp);

		if (!frame)
			return 0;
		depth = depth_of(thread) - 1;
		thread->depth = depth;
		if (!unseen)
			count_drop(IOCX_RECORD_DROP_LOST_RETURN);
		count_untimed(thread, frame->record, parent_at(thread, depth));
	}
	pop_counted(thread, sp);
	return 0;
}

/*
 * Whether an untimed call has returned: its return address has been overwritten, since its caller has called
 * something else (every caller of dbProcess unlocks afterwards). The trampoline's address is no sign of that. It
 * stands there when somebody else has a return probe on the call: another tool, or the session probe of another IOC
 * on the same library, for which the kernel assumes a return probe when its program does not run.
 */
static __always_inline int is_over(const struct iocx_thread *thread, const struct iocx_frame *frame)
{
	struct iocx_trampoline *trampoline;
	__u64 now = 0;

	if (frame->state != IOCX_FRAME_UNTIMED)
		return 0;
	if (bpf_probe_read_user(&now, sizeof(now), (void *)frame->sp))
		return 1;
	if (now == frame->start_ns)
		return 0;
	trampoline = bpf_map_lookup_elem(&ioc_trampolines, &thread->slot);
	return !trampoline || trampoline->generation != thread->generation || now != trampoline->address;
}

/* Learns the address of the trampoline, which is on the stack as the return address of a timed call. */
static __always_inline void learn_trampoline(struct iocx_thread *thread, const struct iocx_frame *timed)
{
	struct iocx_trampoline *trampoline = bpf_map_lookup_elem(&ioc_trampolines, &thread->slot);
	__u64 address = 0;

	if (!trampoline || trampoline->generation == thread->generation)
		return;
	if (bpf_probe_read_user(&address, sizeof(address), (void *)timed->sp))
		return;
	trampoline->address = address;
	barrier(); /* the generation makes the address valid */
	trampoline->generation = thread->generation;
}

/* Pops untimed calls that have returned: all if the outermost has, else from the innermost on. */
static __noinline int drop_finished(struct iocx_thread *thread)
{
	__u32 depth, i;

	if (!thread)
		return 0;
	if (is_over(thread, frame_at(thread, 0)))
		return discard_frames(thread, ~0ULL, 0);
	for (i = 0; i < IOCX_MAX_DEPTH; i++) {
		depth = depth_of(thread);
		if (depth < 2 || depth > IOCX_MAX_DEPTH || !is_over(thread, frame_at(thread, depth - 1)))
			break;
		thread->depth = depth - 1;
	}
	return 0;
}

/*
 * Discards the frames of finished calls when a function is entered: those at or below its stack pointer; all frames
 * after the probes were detached for a while. Returns 0 when some are left, because there were too many.
 */
static __always_inline int settle_frames(struct iocx_thread *thread, const struct iocx_ioc_config *config, __u64 sp)
{
	__u32 depth = depth_of(thread), stale = config->epoch != thread->epoch;
	__u64 limit = stale ? ~0ULL : sp;

	if (depth > 0 && depth <= IOCX_MAX_DEPTH && frame_at(thread, depth - 1)->sp <= limit) {
		discard_frames(thread, limit, stale);
		depth = depth_of(thread);
		if (depth > 0 && depth <= IOCX_MAX_DEPTH && frame_at(thread, depth - 1)->sp <= limit)
			return 0;
	}
	thread->epoch = config->epoch;
	if (cfg_timed_rate && depth > 0 && depth <= IOCX_MAX_DEPTH &&
	    (frame_at(thread, 0)->state == IOCX_FRAME_UNTIMED ||
	     frame_at(thread, depth - 1)->state == IOCX_FRAME_UNTIMED))
		drop_finished(thread);
	return 1;
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
 * The innermost dbProcess that a function, entered with the stack pointer `sp`, is called within; or NULL. For
 * probes on other functions: does not change the frames.
 */
static __always_inline struct iocx_frame *live_frame(struct iocx_thread *thread, const struct iocx_ioc_config *config,
						     __u64 sp)
{
	__u32 depth = depth_of(thread), i;
	struct iocx_frame *frame;

	if (config->epoch != thread->epoch || depth == 0 || depth > IOCX_MAX_DEPTH ||
	    is_over(thread, frame_at(thread, 0)))
		return NULL;
	for (i = 0; i < IOCX_MAX_DEPTH && i < depth; i++) {
		frame = frame_at(thread, depth - 1 - i);
		if (frame->sp > sp && !is_over(thread, frame))
			return frame;
	}
	return NULL;
}

#endif
