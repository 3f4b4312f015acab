// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/*
 * Described functions of IOCs (src/functions): one program for the entries of all, one for their ends. The address that
 * was hit says which function of which IOC it is; addresses of other processes lead to nothing. What is read of a call
 * is a few numbers in the map `functions` (shared/functions.h); nothing that is read is trusted.
 *
 * The programs may be preempted: a key is made on the stack, counts are added atomically. Only the thread itself
 * writes to its calls.
 */
#include <linux/types.h>
#include <linux/ptrace.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "base/attach.bpf.h"
#include "base/function_ends.bpf.h"
#include "base/maps.bpf.h"
#include "shared/functions.h"
#include "shared/verifier.h"
#include "functions/maps.bpf.h"

#define HELD function_held
#include "base/caps.bpf.h"
#include "functions/values.bpf.h"
#include "functions/series.bpf.h"

/* The calls of the thread that are not over, whether it may have new ones or not; NULL: it has none. */
static __always_inline struct iocx_function_thread *thread_of(__u64 id, const struct iocx_function_place *place,
							      int add)
{
	struct iocx_function_thread_key key = {id, place->function, 0};
	struct iocx_function_thread *thread = bpf_map_lookup_elem(&function_threads, &key);
	const __u32 holder = place->holder;
	const struct iocx_function_thread *fresh;

	if (!thread && add) {
		fresh = only_element(&no_calls);
		if (!fresh || !take_place(IOCX_FUNCTION_HELD_THREADS, holder))
			return NULL;
		if (bpf_map_update_elem(&function_threads, &key, fresh, BPF_NOEXIST))
			give_place(IOCX_FUNCTION_HELD_THREADS, holder);
		thread = bpf_map_lookup_elem(&function_threads, &key);
		if (thread)
			thread->holder = place->holder;
	}
	if (thread && thread->epoch != place->epoch) {
		thread->epoch = place->epoch;
		thread->depth = 0;
	}
	return thread;
}

static __always_inline struct iocx_function_call *call_at(struct iocx_function_thread *thread, __u64 index)
{
	IOCX_CA_MASK(index, IOCX_FUNCTION_DEPTH - 1); /* changes nothing: the verifier's bound */
	return &thread->calls[index];
}

/* Leaves calls out that are over, as the stack pointer shows: exceptions and ended threads leave no end. */
static __always_inline __u32 settled_depth(struct iocx_function_thread *thread, __u64 sp, int with_own)
{
	__u32 depth = thread->depth, i;
	__u64 top;

	for (i = 0; i < IOCX_FUNCTION_DEPTH; i++) {
		if (depth == 0 || depth > IOCX_FUNCTION_DEPTH)
			return 0;
		top = call_at(thread, depth - 1)->sp;
		if (top > sp || (!with_own && top == sp))
			return depth;
		depth--;
	}
	return 0;
}

static __noinline int begin_call(struct pt_regs *ctx, __u64 id, const struct iocx_function_place *place, __u32 series)
{
	struct iocx_function_thread *thread = thread_of(id, place, 1);
	const __u64 sp = PT_REGS_SP(ctx);
	struct iocx_function_call *call;
	__u32 depth;

	if (!thread)
		return count_drop(IOCX_FUNCTION_DROP_CALL_FULL);
	depth = settled_depth(thread, sp, 1);
	if (depth >= IOCX_FUNCTION_DEPTH)
		return count_drop(IOCX_FUNCTION_DROP_CALL_FULL);
	call = call_at(thread, depth);
	call->sp = sp;
	call->series = series;
	thread->depth = depth + 1;
	call->start_ns = bpf_ktime_get_ns();
	return 0;
}

/* The time since the call with the same key that began it. */
static __always_inline int end_since(const struct iocx_function_place *place, const struct iocx_function *function,
				     __u64 value, __u32 series)
{
	struct iocx_function_start_key key = {value, place->epoch, function->since};
	const struct iocx_function_start *start = bpf_map_lookup_elem(&function_starts, &key);
	__u32 holder;
	__u64 start_ns;

	if (!start)
		return count_drop(IOCX_FUNCTION_DROP_START_UNKNOWN);
	start_ns = start->start_ns;
	holder = start->holder;
	if (bpf_map_delete_elem(&function_starts, &key)) /* another thread was faster */
		return 0;
	give_place(IOCX_FUNCTION_HELD_STARTS, holder);
	add_time(series, bpf_ktime_get_ns() - start_ns);
	return 0;
}

static __always_inline int begin_since(const struct iocx_function_place *place, const struct iocx_function *function,
				       __u64 value)
{
	struct iocx_function_start_key key = {value, place->epoch, function->begins};
	struct iocx_function_start fresh = {bpf_ktime_get_ns(), place->holder, 0};
	const __u32 holder = place->holder;

	if (!bpf_map_update_elem(&function_starts, &key, &fresh, BPF_EXIST))
		return 0;
	if (!take_place(IOCX_FUNCTION_HELD_STARTS, holder))
		return count_drop(IOCX_FUNCTION_DROP_FULL);
	if (bpf_map_update_elem(&function_starts, &key, &fresh, BPF_NOEXIST))
		give_place(IOCX_FUNCTION_HELD_STARTS, holder);
	return 0;
}

static __noinline int note_pointer(struct pt_regs *ctx, __u64 id, const struct iocx_function_place *place,
				   const struct iocx_function *function)
{
	struct iocx_function_pointer_key key = {0, id >> 32, place->function};
	const __u32 holder = place->holder;

	if (!read_number(ctx, &function->pointer, &key.address))
		return count_drop(IOCX_FUNCTION_DROP_VALUE_UNREAD);
	if (!key.address || bpf_map_lookup_elem(&function_pointers, &key))
		return 0;
	if (!take_place(IOCX_FUNCTION_HELD_POINTERS, holder))
		return count_drop(IOCX_FUNCTION_DROP_FULL);
	if (bpf_map_update_elem(&function_pointers, &key, &place->holder, BPF_NOEXIST))
		give_place(IOCX_FUNCTION_HELD_POINTERS, holder);
	return 0;
}

static __always_inline struct iocx_function_place *place_hit(struct pt_regs *ctx, __u64 id, __u32 which)
{
	struct iocx_function_place_key key = {PT_REGS_IP(ctx), id >> 32, which};
	struct iocx_function_place *place = bpf_map_lookup_elem(&function_places, &key);

	if (place)
		__sync_fetch_and_add(&place->hits, 1);
	return place;
}

static __noinline int read_key(struct pt_regs *ctx, const struct iocx_function_place *place,
			       const struct iocx_function *function, __u32 series)
{
	__u64 value = 0;

	if (!read_number(ctx, &function->key, &value))
		return count_drop(IOCX_FUNCTION_DROP_VALUE_UNREAD);
	if (function->flags & IOCX_FUNCTION_SINCE)
		end_since(place, function, value, series);
	if (function->flags & IOCX_FUNCTION_BEGINS)
		begin_since(place, function, value);
	return 0;
}

static __always_inline void on_entry(struct pt_regs *ctx, __u64 id, const struct iocx_function_place *place)
{
	const struct iocx_function *function = bpf_map_lookup_elem(&functions, &place->function);
	__u32 series, flags;

	if (!function)
		return;
	series = function->words ? series_of_call(ctx, place, function) : place->series;
	count_call(series);
	flags = function->flags;
	if (!flags)
		return;
	if (flags & IOCX_FUNCTION_RESULT)
		count_result(ctx, place, function, series);
	if (flags & IOCX_FUNCTION_POINTER)
		note_pointer(ctx, id, place, function);
	if (flags & (IOCX_FUNCTION_SINCE | IOCX_FUNCTION_BEGINS))
		read_key(ctx, place, function, series);
	if (flags & IOCX_FUNCTION_ENDS)
		begin_call(ctx, id, place, series);
}

static __always_inline int on_end(struct pt_regs *ctx, __u64 id, const struct iocx_function_place *place, __u64 now)
{
	const struct iocx_function *function = bpf_map_lookup_elem(&functions, &place->function);
	struct iocx_function_thread *thread = thread_of(id, place, 0);
	const __u64 sp = PT_REGS_SP(ctx) + place->below;
	struct iocx_function_call *call;
	__u32 depth;

	depth = thread ? settled_depth(thread, sp, 0) : 0;
	if (!function || !thread || depth == 0 || depth > IOCX_FUNCTION_DEPTH)
		return 0;
	call = call_at(thread, depth - 1);
	thread->depth = call->sp == sp ? depth - 1 : depth;
	if (call->sp != sp)
		return 0;
	if (function->flags & IOCX_FUNCTION_TIMED)
		add_time(call->series, now - call->start_ns);
	if (function->flags & IOCX_FUNCTION_RESULT_AT_END)
		count_result(ctx, place, function, call->series);
	return 0;
}

/*
 * While one kind of attachment replaces the other, a hit under way when user space writes place->attach is not counted: the
 * first program has left it to the second, and the second's kind does not count any more. It is never counted twice.
 */
static __always_inline int at_entry(struct pt_regs *ctx, __u8 attach)
{
	const __u64 id = bpf_get_current_pid_tgid();
	struct iocx_function_place *place;
	__u32 i;

	attach = kind_of_attachment(ctx, attach);

	for (i = 0; i < IOCX_FUNCTION_AT_ONCE; i++) {
		place = place_hit(ctx, id, IOCX_FUNCTION_WHICH(i, 0));
		if (!place || place->attach != attach)
			return 0;
		on_entry(ctx, id, place);
		if (!place->more)
			return 0;
	}
	return 0;
}

ENTRY_PROGRAM(function_entry, at_entry)

/* By the second of two attachments the call is over already. */
SEC("uprobe")
int function_end(struct pt_regs *ctx)
{
	const __u64 now = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid();
	struct iocx_function_place *place;
	__u32 i;

	for (i = 0; i < IOCX_FUNCTION_AT_ONCE; i++) {
		place = place_hit(ctx, id, IOCX_FUNCTION_WHICH(i, 1));
		if (!place)
			return 0;
		if (CONDITION_HOLDS(ctx, place->condition))
			on_end(ctx, id, place, now);
		if (!place->more)
			return 0;
	}
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
