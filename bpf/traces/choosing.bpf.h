/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Which chains are chosen: by the rate and by names, when they begin and on their way, and by how they end. */
#ifndef IOC_EXPORTER_BPF_TRACES_CHOOSING_BPF_H
#define IOC_EXPORTER_BPF_TRACES_CHOOSING_BPF_H

/* Whether the rate chooses a chain that matches: asked once of each. */
static __always_inline int is_drawn(__u32 slot, const struct iocx_trace_config *config, __u64 now)
{
	struct iocx_trace_lot *lot = bpf_map_lookup_elem(&trace_lots, &slot);

	return lot && config->interval_ns &&
	       iocx_trace_draw(lot, config->interval_ns, config->at_once, now, bpf_get_prandom_u32());
}

#define WHOLE_CHAIN_DECIDES (IOCX_TRACE_BY_ALARM | IOCX_TRACE_BY_ACTIVE | IOCX_TRACE_BY_TIME | IOCX_TRACE_HAS_WISHES)

/*
 * Whether the call is made by recGblFwdLink() of a record of a chosen chain. There it makes one at most. The record is
 * active until then: where nothing overwrites the return address, its end shows by that alone.
 */
static __always_inline int is_continued(struct iocx_trace_thread *trace, const struct iocx_thread *thread, __u64 sp,
					__u64 callers)
{
	const struct iocx_ioc_config *config = bpf_map_lookup_elem(&ioc_config, &thread->slot);
	struct iocx_trace_resumed *resumed = &trace->resumed;

	if (!config || !resumed->id || resumed->owner != thread->owner || sp >= resumed->sp)
		return 0;
	return read_pact(config, resumed->record) && !return_is_gone(resumed->sp, resumed->returns_to, callers);
}

/* The outermost call of a thread: whether its chain is looked at. */
static __always_inline int begin_trace(struct iocx_trace_thread *trace, const struct iocx_thread *thread,
				       const struct iocx_trace_config *config, const struct iocx_frame *frame,
				       int continued)
{
	const __u32 cause = frame->state == IOCX_FRAME_DIRECT ? IOCX_CAUSE_DIRECT
			    : frame->cause                    ? frame->cause
							      : thread->cause;
	const int excluded = !(config->causes >> (cause & 31) & 1);
	__u32 why = 0;

	if (continued)
		why = IOCX_TRACE_CONTINUED;
	else if (!excluded && !(config->settings & IOCX_TRACE_NAMED_ONLY) &&
		 is_drawn(thread->slot, config, frame->start_ns))
		why = IOCX_TRACE_RATE;
	if (!why && !(config->settings & (excluded ? IOCX_TRACE_HAS_WISHES : WHOLE_CHAIN_DECIDES)))
		return 0;
	__builtin_memset(&trace->chain, 0, sizeof(trace->chain));
	trace->chain.kind = IOCX_TRACE_CHAIN;
	trace->chain.slot = thread->slot;
	trace->chain.generation = thread->generation;
	trace->chain.id = (__u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32() | 1;
	trace->chain.owner = thread->owner;
	trace->chain.start_ns = frame->start_ns;
	trace->chain.cause = cause;
	trace->chain.why = why;
	__builtin_memcpy(trace->chain.comm, thread->comm, sizeof(trace->chain.comm));
	trace->since_ns = continued ? trace->resumed.since_ns : frame->start_ns;
	trace->asked_slower_ns = 0;
	trace->started = 0;
	trace->excluded = (__u8)excluded;
	trace->named = 0;
	trace->raised = 0;
	trace->met_active = 0;
	trace->broken = 0;
	trace->asynchronous = 0;
	if (continued) {
		trace->chain.parent_id = trace->resumed.id;
		trace->chain.parent_span = (__u16)trace->resumed.number;
		tell_that_it_goes_on(trace);
	}
	trace->resumed.id = 0;
	return 1;
}

/* A record processes: somebody may want the chains that it is in. */
static __always_inline void look_for_wish(struct iocx_trace_thread *trace, const struct iocx_trace_config *config,
					  __u64 record, __u64 now)
{
	struct iocx_trace_wish_key key = {.record = record, .generation = trace->chain.generation};
	const struct iocx_trace_wish *wish = bpf_map_lookup_elem(&trace_wishes, &key);

	if (!wish)
		return;
	if (wish->flags & IOCX_TRACE_WISH_NAMED && !trace->named) {
		trace->named = 1;
		if (!trace->excluded && is_drawn(trace->chain.slot, config, now))
			trace->chain.why |= IOCX_TRACE_RATE;
	}
	if (!(wish->flags & IOCX_TRACE_WISH_ASKED) || now >= wish->until_ns ||
	    !(wish->causes >> (trace->chain.cause & 31) & 1))
		return;
	if (!wish->slower_ns)
		trace->chain.why |= IOCX_TRACE_ASKED;
	else if (!trace->asked_slower_ns || wish->slower_ns < trace->asked_slower_ns)
		trace->asked_slower_ns = wish->slower_ns;
}

/* Whether the whole chain is chosen, now that it has taken until `now`. */
static __always_inline __u32 why_at(const struct iocx_trace_thread *trace, __u64 now)
{
	const struct iocx_trace_config *config = bpf_map_lookup_elem(&trace_config, &trace->chain.slot);
	const __u64 duration = now - trace->chain.start_ns;
	__u32 why = trace->chain.why, settings;

	if (trace->asked_slower_ns && duration >= trace->asked_slower_ns)
		why |= IOCX_TRACE_ASKED;
	if (!config || trace->excluded || (config->settings & IOCX_TRACE_NAMED_ONLY && !trace->named))
		return why;
	settings = config->settings;
	if (settings & IOCX_TRACE_BY_TIME && duration >= config->slower_ns)
		why |= IOCX_TRACE_SLOWER;
	if (settings & IOCX_TRACE_BY_ALARM && trace->raised)
		why |= IOCX_TRACE_ALARM;
	if (settings & IOCX_TRACE_BY_ACTIVE && trace->met_active)
		why |= IOCX_TRACE_ACTIVE;
	return why;
}

#endif
