/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Chains of records: all that the outermost dbProcess of a thread sets in motion on that thread, until it ends. They are
 * put together from what happens to its frames (records/hook.bpf.h). Whether one may be chosen is decided at its begin, and
 * whether it is, then or at its end. Its spans wait in a buffer of the thread, and are sent at the end as one event, or
 * thrown away; one that is chosen and outgrows the buffer is sent in parts. Only calls that are timed are looked at: no
 * frame but theirs has an end.
 */
#ifndef IOC_EXPORTER_BPF_TRACES_CHAINS_BPF_H
#define IOC_EXPORTER_BPF_TRACES_CHAINS_BPF_H

/* The end of one chain was not seen, and the next begins. */
static __always_inline void leave_trace(struct iocx_trace_thread *trace, __u64 id)
{
	if (!trace->chain.id)
		return;
	if (trace->chain.owner == id && trace->chain.why) {
		trace->chain.lost += 1;
		trace_send(id, 1);
	}
	trace->chain.id = 0;
}

/*
 * Whether a chain begins and ends with the frame. One that begins without dbProcess is a span of its own, sent at once:
 * nothing sees its end. What it processes continues it.
 */
static __always_inline int is_outermost(struct iocx_thread *thread, __u32 index)
{
	return index == 0 || (index == 1 && frame_at(thread, 0)->state == IOCX_FRAME_DIRECT);
}

__noinline int frame_pushed(__u64 id, __u64 callers)
{
	const struct iocx_trace_config *config;
	struct iocx_trace_thread *trace;
	struct iocx_thread *thread;
	struct iocx_frame *frame;
	int continued = 0, outermost, written;
	__u32 depth;

	asm volatile("" : "+r"(callers)); /* else callers leave it out where nothing reads it, and the verifier minds */
	if (!cfg_traces)
		return 0;
	thread = thread_of(id);
	if (!thread)
		return 0;
	depth = thread->depth;
	if (depth == 0 || depth > IOCX_MAX_DEPTH)
		return 0;
	trace = trace_place(id);
	config = bpf_map_lookup_elem(&trace_config, &thread->slot);
	if (!trace || !config || config->generation != thread->generation)
		return 0;
	if (!traced_thread(id)) { /* another thread has its place */
		if (depth == 1)
			count_trace(IOCX_TRACE_DROP_NO_ROOM);
		return 0;
	}
	frame = frame_at(thread, depth - 1);
	*number_at(trace, depth - 1) = 0;
	written = is_written(thread, depth, callers);
	outermost = is_outermost(thread, depth - 1);
	if (outermost) {
		leave_trace(trace, id);
		continued = is_continued(trace, thread, frame->sp, callers);
		if (!begin_trace(trace, thread, config, frame, continued))
			return 0;
	} else if (!trace->chain.id || trace->chain.owner != id || !*number_at(trace, depth - 2)) {
		return 0;
	}
	if (written && add_inside_put(trace, thread, outermost, outermost ? 0 : *number_at(trace, depth - 2)))
		frame->flags |= IOCX_FRAME_WRITTEN;
	if (!start_span(trace))
		return 0;
	*number_at(trace, depth - 1) = trace->started;
	if (config->settings & IOCX_TRACE_HAS_WISHES)
		look_for_wish(trace, config, frame->record, frame->start_ns);
	return 0;
}

/* The end of the whole chain. Returns why it is sent; 0: it is not. */
static __always_inline __u32 end_chain(struct iocx_trace_thread *trace, __u64 id, __u64 now)
{
	const __u32 why = why_at(trace, now);

	trace->chain.why = why;
	if (why) {
		if (trace->chain.lost)
			count_trace(IOCX_TRACE_DROP_TOO_LONG);
		trace_send(id, 1);
	}
	trace->chain.id = 0;
	return why;
}

__noinline int frame_popped(__u64 id, __u64 now, __u32 flags)
{
	const struct iocx_ioc_config *config;
	struct iocx_trace_thread *trace;
	const struct iocx_frame *frame;
	struct iocx_trace_span *span;
	struct iocx_thread *thread;
	__u32 index, alarm, active = 0;
	__u16 number, parent;

	if (!cfg_traces)
		return 0;
	trace = open_trace(id);
	thread = traced_thread(id);
	if (!trace || !thread)
		return 0;
	if (flags & IOCX_TRACE_SPAN_CUT)
		now = bpf_ktime_get_ns();
	index = thread->depth;
	if (index >= IOCX_MAX_DEPTH)
		return 0;
	number = *number_at(trace, index);
	config = bpf_map_lookup_elem(&ioc_config, &thread->slot);
	if (!number || !config)
		return 0;
	frame = frame_at(thread, index);
	parent = frame->flags & IOCX_FRAME_WRITTEN ? number - 1 : index ? *number_at(trace, index - 1) : 0;
	if (!flags)
		active = read_pact(config, frame->record) != 0;
	alarm = flags & IOCX_TRACE_SPAN_CUT ? IOCX_SEVERITIES : alarm_of(config, frame->record);
	if ((alarm & 0xFFFF) < IOCX_SEVERITIES && frame->severity < (alarm & 0xFFFF))
		trace->raised = 1;
	span = add_span(trace, id, now);
	if (span) {
		span->record = frame->record;
		span->start_ns = frame->start_ns;
		span->end_ns = now;
		span->child_ns = frame->child_ns;
		span->number = number;
		span->parent = parent;
		set_alarm(span, alarm);
		span->flags = (__u8)(flags | (active ? IOCX_TRACE_SPAN_ASYNCHRONOUS : 0));
		if (active)
			trace->asynchronous = 1;
	}
	if (is_outermost(thread, index))
		end_chain(trace, id, now);
	return (int)active;
}

/* Counts a span that begins within the thread's innermost call. Returns the number of that call's span; 0: it is none. */
static __always_inline __u16 start_inner_span(struct iocx_trace_thread *trace, struct iocx_thread *thread)
{
	__u32 depth = thread->depth;
	__u16 parent;

	if (depth == 0 || depth > IOCX_MAX_DEPTH)
		return 0;
	parent = *number_at(trace, depth - 1);
	return parent && start_span(trace) ? parent : 0;
}

/* A call that does not process its record, within another one; without flags one that is not followed. */
__noinline int call_skipped(__u64 id, __u64 record, __u32 flags)
{
	struct iocx_trace_thread *trace;
	struct iocx_thread *thread;
	__u16 parent;

	if (!cfg_traces)
		return 0;
	trace = open_trace(id);
	thread = traced_thread(id);
	if (!trace || !thread)
		return 0;
	if (!flags) {
		trace->chain.lost += 1;
		return 0;
	}
	parent = start_inner_span(trace, thread);
	if (!parent)
		return 0;
	if (flags & IOCX_TRACE_SPAN_ACTIVE)
		trace->met_active = 1;
	add_moment(trace, id, record, bpf_ktime_get_ns(), parent, flags); /* dbProcess may set the severity yet */
	return 0;
}

/* What is called from here on the thread belongs to the span of the record, while that is active. */
static __always_inline void resume(struct iocx_trace_thread *trace, __u64 id, __u64 record, __u64 sp, __u64 returns_to,
				   const struct iocx_trace_pending *pending)
{
	trace->resumed.since_ns = pending->since_ns;
	trace->resumed.owner = id;
	trace->resumed.record = record;
	trace->resumed.sp = sp;
	trace->resumed.returns_to = returns_to;
	trace->resumed.number = pending->number;
	trace->resumed.id = pending->id;
}

/* A span without a duration. */
__noinline int frame_direct(__u64 id)
{
	const struct iocx_trace_config *settings;
	const struct iocx_ioc_config *config;
	struct iocx_trace_thread *trace;
	struct iocx_trace_span *span;
	struct iocx_thread *thread;
	struct iocx_frame *frame;
	struct iocx_trace_pending direct = {.number = 1};
	__u16 parent = 0;
	__u32 depth;

	if (!cfg_traces)
		return 0;
	trace = trace_place(id);
	thread = traced_thread(id);
	if (!trace || !thread)
		return 0;
	depth = thread->depth;
	if (depth == 0 || depth > IOCX_MAX_DEPTH)
		return 0;
	settings = bpf_map_lookup_elem(&trace_config, &thread->slot);
	config = bpf_map_lookup_elem(&ioc_config, &thread->slot);
	if (!settings || !config || settings->generation != thread->generation)
		return 0;
	frame = frame_at(thread, depth - 1);
	*number_at(trace, depth - 1) = 0;
	if (depth == 1) {
		leave_trace(trace, id);
		if (!begin_trace(trace, thread, settings, frame, 0))
			return 0;
	} else {
		parent = *number_at(trace, depth - 2);
		if (!trace->chain.id || trace->chain.owner != id || !parent)
			return 0;
	}
	if (!start_span(trace))
		return 0;
	if (settings->settings & IOCX_TRACE_HAS_WISHES)
		look_for_wish(trace, settings, frame->record, frame->start_ns);
	span = add_moment(trace, id, frame->record, frame->start_ns, parent, 0);
	if (span)
		set_alarm(span, alarm_of(config, frame->record));
	if (depth > 1) {
		*number_at(trace, depth - 1) = trace->started;
		return 0;
	}
	direct.id = trace->chain.id;
	direct.since_ns = trace->since_ns;
	if (end_chain(trace, id, frame->start_ns))
		resume(trace, id, frame->record, frame->sp, frame->returns_to, &direct);
	return 0;
}

/*
 * A put through a link of the record, outside of any dbProcess, while the record is active: a step of what it began in
 * the call that started at the time that its counts have (seq, sseq, output of a second phase).
 */
__noinline int trace_step(__u64 id, __u64 record, __u64 sp, __u64 returns_to)
{
	struct iocx_trace_wish_key key = {.record = record};
	const struct iocx_trace_pending *pending;
	const struct iocx_record_stats *stats;
	struct iocx_trace_thread *trace;
	struct iocx_thread *thread;
	void *records;

	if (!cfg_traces)
		return 0;
	thread = traced_thread(id);
	trace = thread ? trace_place(id) : NULL;
	if (!thread || !trace)
		return 0;
	key.generation = thread->generation;
	pending = bpf_map_lookup_elem(&trace_pending, &key);
	if (!pending || bpf_ktime_get_ns() - pending->since_ns >= IOCX_TRACE_PATIENCE_NS)
		return 0;
	records = bpf_map_lookup_elem(&ioc_records, &thread->slot);
	stats = records ? bpf_map_lookup_elem(records, &record) : NULL;
	if (!stats || stats->async_start_ns != pending->start_ns)
		return 0;
	resume(trace, id, record, sp, returns_to, pending);
	return 1;
}

/* The completion of an earlier call may have gone by unseen. */
__noinline int record_completed(__u64 id, __u64 record, __u64 sp, __u64 returns_to, __u64 start_ns)
{
	struct iocx_trace_wish_key key = {.record = record};
	const struct iocx_trace_pending *pending;
	struct iocx_trace_thread *trace;
	struct iocx_trace_chain *event;
	struct iocx_thread *thread;
	__u64 now;

	if (!cfg_traces)
		return 0;
	thread = thread_of(id);
	if (!thread)
		return 0;
	trace = traced_thread(id) ? trace_place(id) : NULL;
	if (trace)
		trace->resumed.id = 0;
	key.generation = thread->generation;
	pending = bpf_map_lookup_elem(&trace_pending, &key);
	if (!pending)
		return 0;
	if (pending->start_ns != start_ns) {
		bpf_map_delete_elem(&trace_pending, &key);
		return 0;
	}
	now = bpf_ktime_get_ns();
	if (trace && now - pending->since_ns < IOCX_TRACE_PATIENCE_NS)
		resume(trace, id, record, sp, returns_to, pending);
	event = trace_reserve(thread->slot);
	if (event) {
		__builtin_memset(event, 0, sizeof(*event));
		event->kind = IOCX_TRACE_COMPLETION;
		event->slot = thread->slot;
		event->generation = thread->generation;
		event->id = pending->id;
		event->parent_span = (__u16)pending->number;
		event->owner = id;
		event->now_ns = now;
		__builtin_memcpy(event->comm, thread->comm, sizeof(event->comm));
		bpf_ringbuf_submit(event, trace_wakes());
	} else {
		count_trace(IOCX_TRACE_DROP_NO_ROOM);
	}
	bpf_map_delete_elem(&trace_pending, &key);
	return 0;
}

#endif
