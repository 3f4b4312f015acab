/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* The chain that is under way on a thread, its buffer, and how it goes out. */
#ifndef IOC_EXPORTER_BPF_TRACES_SENDING_BPF_H
#define IOC_EXPORTER_BPF_TRACES_SENDING_BPF_H

static __always_inline void count_trace(__u32 what)
{
	add_to_counter(&trace_counts, what, 1);
}

static __always_inline __u64 trace_wakes(void)
{
	const int many = bpf_ringbuf_query(&trace_events, BPF_RB_AVAIL_DATA) > cfg_trace_wake;

	return many ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

/* Whether the IOC at the slot may have one more event in the ring. */
static __always_inline int trace_may(__u32 slot)
{
	return ring_may(&trace_events, cfg_trace_ring, &trace_shares, IOCX_MAX_IOCS, slot);
}

/* 0: it is in the ring; else 1 + why it is not, as enum iocx_trace_drop has it. */
static __always_inline __u8 trace_output(__u32 slot, void *event, __u32 size, __u64 flags)
{
	if (!trace_may(slot))
		return 1 + IOCX_TRACE_DROP_SHARE;
	if (bpf_ringbuf_output(&trace_events, event, size, flags))
		return 1 + IOCX_TRACE_DROP_RING_FULL;
	ring_told(&trace_shares, slot, iocx_ring_bytes(size));
	return 0;
}

/* For an event without spans, which is sent then. */
static __always_inline struct iocx_trace_chain *trace_reserve(__u32 slot)
{
	struct iocx_trace_chain *event = NULL;

	if (trace_may(slot))
		event = bpf_ringbuf_reserve(&trace_events, sizeof(*event), 0);
	if (event)
		ring_told(&trace_shares, slot, iocx_ring_bytes(sizeof(*event)));
	return event;
}

static __always_inline struct iocx_trace_thread *trace_place(__u64 id)
{
	__u32 index = (__u32)id & thread_mask;

	return bpf_map_lookup_elem(&trace_threads, &index);
}

/* The chain that is under way on the calling thread; NULL: there is none. */
static __always_inline struct iocx_trace_thread *open_trace(__u64 id)
{
	struct iocx_trace_thread *trace = trace_place(id);

	return trace && trace->chain.id && trace->chain.owner == id ? trace : NULL;
}

/* The stack of the calling thread, if it is the one whose place is the buffer's. */
static __always_inline struct iocx_thread *traced_thread(__u64 id)
{
	__u32 index = (__u32)id & thread_mask;
	struct iocx_thread *thread = bpf_map_lookup_elem(&record_threads, &index);

	return thread && thread->owner == id ? thread : NULL;
}

/* The number of the span of a frame. */
static __always_inline __u16 *number_at(struct iocx_trace_thread *trace, __u32 index)
{
	asm volatile("" : "+r"(index));
	return &trace->numbers[index & (IOCX_MAX_DEPTH - 1)];
}

/* Spans in the buffer whose records are active: their completions are seen from now on. */
static __always_inline void note_pending(struct iocx_trace_thread *trace)
{
	struct iocx_trace_wish_key key = {.generation = trace->chain.generation};
	struct iocx_trace_pending pending = {.id = trace->chain.id, .since_ns = trace->since_ns};
	const struct iocx_trace_span *span;
	__u32 i;

	for (i = 0; i < IOCX_TRACE_SPANS; i++) {
		if (i >= trace->chain.spans)
			return;
		span = &trace->spans[i];
		if (!(span->flags & IOCX_TRACE_SPAN_ASYNCHRONOUS))
			continue;
		key.record = span->record;
		pending.number = span->number;
		pending.start_ns = span->start_ns;
		if (bpf_map_update_elem(&trace_pending, &key, &pending, BPF_ANY))
			count_trace(IOCX_TRACE_DROP_NO_ROOM);
	}
}

/* The put that began the chain of the calling thread, if its server probe has noted one. */
static __always_inline void take_put(struct iocx_trace_thread *trace, __u64 id)
{
	const struct iocx_trace_put *put;
	struct iocx_trace_pva_put *pva;

	if (trace->chain.put.time) /* a client in the IOC */
		return;
	if (trace->chain.cause == IOCX_CAUSE_CA) {
		put = bpf_map_lookup_elem(&trace_puts, &id);
		if (!put)
			return;
		trace->chain.put = *put;
		bpf_map_delete_elem(&trace_puts, &id);
	} else if (trace->chain.cause == IOCX_CAUSE_PVA) {
		pva = bpf_map_lookup_elem(&trace_pva_puts, &id);
		if (!pva)
			return;
		pva->id = trace->chain.id;
		pva->slot = trace->chain.slot;
		if (trace_output(pva->slot, pva, sizeof(*pva), BPF_RB_NO_WAKEUP))
			count_trace(IOCX_TRACE_DROP_NO_ROOM);
		bpf_map_delete_elem(&trace_pva_puts, &id);
	}
}

/* Sends what is in the buffer of the calling thread, which then is empty. `last`: the chain ends with it. */
__noinline int trace_send(__u64 id, __u32 last)
{
	struct iocx_trace_thread *trace;
	__u32 spans;

	if (!cfg_traces)
		return 0;
	trace = open_trace(id);
	if (!trace)
		return 0;
	spans = trace->chain.spans;
	if (spans > IOCX_TRACE_SPANS)
		return 0;
	if (trace->chain.part == 0)
		take_put(trace, id);
	trace->chain.now_ns = bpf_ktime_get_ns();
	trace->chain.last = (__u16)last;
	if (!trace->broken)
		trace->broken = trace_output(trace->chain.slot, trace,
					     sizeof(trace->chain) + spans * sizeof(trace->spans[0]), trace_wakes());
	/* The record's lock set is locked until the outermost dbProcess returns: nothing completes before this. */
	if (trace->asynchronous && !trace->broken)
		note_pending(trace);
	trace->asynchronous = 0;
	trace->chain.spans = 0;
	trace->chain.part += 1;
	if (last) {
		count_trace(trace->broken ? trace->broken - 1 : IOCX_TRACE_SENT);
		trace->chain.id = 0;
	}
	return 0;
}

static __always_inline void tell_that_it_goes_on(const struct iocx_trace_thread *trace)
{
	struct iocx_trace_chain *event = trace_reserve(trace->chain.slot);

	if (!event)
		return; /* then its end comes as it comes */
	__builtin_memset(event, 0, sizeof(*event));
	event->kind = IOCX_TRACE_GOES_ON;
	event->slot = trace->chain.slot;
	event->generation = trace->chain.generation;
	event->id = trace->chain.id;
	event->parent_id = trace->chain.parent_id;
	event->now_ns = trace->chain.start_ns;
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

#endif
