/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Writes of clients of Channel Access in the IOC itself, for bpf/traces/chains.bpf.h: what they process is part of them.
 * That is the record of their channel, once a write at most (dbPutField() and dbProcessNotify() call dbProcess for it).
 */
#ifndef IOC_EXPORTER_BPF_TRACES_INSIDE_BPF_H
#define IOC_EXPORTER_BPF_TRACES_INSIDE_BPF_H

/* Whether such a write has made the call whose frame is on top, at `depth`, within the call below that. */
static __always_inline int is_written(struct iocx_thread *thread, __u32 depth, __u64 callers)
{
	struct iocx_thread_puts *puts = &thread->puts;
	const struct iocx_frame *frame = frame_at(thread, depth - 1);

	if (!puts->written || puts->written != frame->record || frame->sp >= puts->inside.sp ||
	    (depth > 1 && frame_at(thread, depth - 2)->sp <= puts->inside.sp))
		return 0;
	puts->written = 0;
	return puts->inside.epoch == thread->epoch &&
	       !return_is_gone(puts->inside.sp, puts->inside.returns_to, callers);
}

/*
 * Takes the write that the server probe has noted. It is what began the chain, or is a span below `parent` that has
 * ended when what it processes has: 1, that has begun.
 */
static __always_inline int add_inside_put(struct iocx_trace_thread *trace, const struct iocx_thread *thread, int begins,
					  __u16 parent)
{
	const __u64 id = thread->owner, key = IOCX_TRACE_PUT_INSIDE(id);
	struct iocx_trace_put *put = bpf_map_lookup_elem(&trace_puts, &key);
	struct iocx_trace_span *span = NULL;
	int is_span = 0;

	if (!put || put->sp != (__u32)thread->puts.inside.sp)
		return 0;
	if (begins && !trace->chain.parent_id) {
		trace->chain.put = *put;
	} else if (start_span(trace)) {
		is_span = 1;
		span = add_moment(trace, id, put->id, put->time, parent, IOCX_TRACE_SPAN_PUT);
	}
	if (span)
		span->child_ns = put->slot | (__u64)put->generation << 32;
	bpf_map_delete_elem(&trace_puts, &key);
	return is_span;
}

#endif
