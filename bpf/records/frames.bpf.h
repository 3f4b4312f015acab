/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * A thread's stack of dbProcess calls. A frame knows the stack pointer of its call: that tells which frame
 * a return belongs to, and whether a call that is made now is made within it.
 */
#ifndef IOC_EXPORTER_BPF_RECORD_FRAMES_H
#define IOC_EXPORTER_BPF_RECORD_FRAMES_H

/* What `ret` pops: the stack pointer that a return probe sees, less that at entry. */
#if defined(__TARGET_ARCH_x86)
#define RETURN_ADDRESS_SIZE 8
#else
#define RETURN_ADDRESS_SIZE 0
#endif

#define IOCX_LOST_AT_ONCE 4

/* Frame `index` of a thread; it must be less than the depth. */
static __always_inline struct iocx_frame *frame_at(struct iocx_thread *thread, __u32 index)
{
	/* What the compiler knows of the index would let it leave out the mask, which the verifier wants. */
	asm volatile("" : "+r"(index));
	return &thread->frames[index & (IOCX_MAX_DEPTH - 1)];
}

/* The record of the frame below `depth`, 0 at the bottom. */
static __always_inline __u64 parent_at(struct iocx_thread *thread, __u32 depth)
{
	return depth > 0 && depth <= IOCX_MAX_DEPTH ? frame_at(thread, depth - 1)->record : 0;
}

/*
 * The depth, in a way that the verifier learns nothing from what was known of it before: else it would
 * follow each of the depths that a loop may end with on their own.
 */
static __always_inline __u32 depth_of(struct iocx_thread *thread)
{
	return *(volatile __u32 *)&thread->depth;
}

/* Pops frames at or below `sp` up to one that still has to be counted: that one, or NULL. */
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
 * Takes frames of calls that are over from the stack: those at or below `sp` (stacks grow down). A timed
 * one that is among them has lost its return (a thread that was ended, a probe detached meanwhile): it is
 * counted, without a duration. Of those, which are rare, it takes a few at a time.
 * `unseen`: the probes were detached for a while, so that no return is missed.
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
 * An untimed call is over when what stands where its return address stood is another: its caller has called
 * something else since (every caller of dbProcess lets a lock go afterwards). But for the kernel's
 * trampoline: somebody else wants to see that call return, be it another tool, or the session probe of
 * another IOC on the same library, which the kernel takes to want every return that it is not asked about.
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

/* Learns the trampoline's address from a call that is timed and not over: it stands on the stack there. */
static __always_inline void learn_trampoline(struct iocx_thread *thread, const struct iocx_frame *timed)
{
	struct iocx_trampoline *trampoline = bpf_map_lookup_elem(&ioc_trampolines, &thread->slot);
	__u64 address = 0;

	if (!trampoline || trampoline->generation == thread->generation)
		return;
	if (bpf_probe_read_user(&address, sizeof(address), (void *)timed->sp))
		return;
	trampoline->address = address;
	barrier(); /* the generation says that the address is there */
	trampoline->generation = thread->generation;
}

/* Takes untimed calls that are over from the stack: all with the outermost, else from the innermost on. */
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
 * Takes from the stack what lies at or below the stack pointer of a function that is entered now: calls
 * that are over. All of it, after the probes were detached for a while. False when more is left than could
 * be taken at once.
 */
static __always_inline int settle_frames(struct iocx_thread *thread, const struct iocx_ioc_config *config,
					 __u64 sp)
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

/* Pops the frame of the call that returns to `sp`; NULL when there is none on the stack. */
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
	if (frame->sp != sp) /* a call that was not pushed, or that another attachment has popped */
		return NULL;
	thread->depth = depth - 1;
	return frame;
}

/*
 * The innermost dbProcess that calls, directly or not, the function that was entered with the stack pointer
 * `sp`; NULL when that function is not within one. For probes on other functions: leaves the frames alone.
 */
static __always_inline struct iocx_frame *live_frame(struct iocx_thread *thread,
						     const struct iocx_ioc_config *config, __u64 sp)
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
