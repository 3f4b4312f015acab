/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Spans of the chain that is under way on a thread, for bpf/traces/chains.bpf.h. */
#ifndef IOC_EXPORTER_BPF_TRACES_SPANS_BPF_H
#define IOC_EXPORTER_BPF_TRACES_SPANS_BPF_H

/* Room for one more span; NULL: there is none, and it is not known yet whether the chain is chosen. */
static __always_inline struct iocx_trace_span *add_span(struct iocx_trace_thread *trace, __u64 id, __u64 now)
{
	__u32 at = trace->chain.spans;

	if (at >= IOCX_TRACE_SPANS) {
		trace->chain.why = why_at(trace, now);
		if (!trace->chain.why) {
			trace->chain.lost += 1;
			return NULL;
		}
		trace_send(id, 0);
		at = 0;
	}
	trace->chain.spans = (__u16)(at + 1);
	IOCX_CA_OPAQUE(at);
	return &trace->spans[at & (IOCX_TRACE_SPANS - 1)];
}

/* One more span begins; 0: there is no number for it. */
static __always_inline int start_span(struct iocx_trace_thread *trace)
{
	if (trace->started == (__u16)~0) {
		trace->chain.lost += 1;
		return 0;
	}
	trace->started += 1;
	return 1;
}

/* Adds the span that has begun last, without a duration. NULL: as add_span(). */
static __always_inline struct iocx_trace_span *add_moment(struct iocx_trace_thread *trace, __u64 id, __u64 record,
							  __u64 now, __u16 parent, __u32 flags)
{
	struct iocx_trace_span *span = add_span(trace, id, now);

	if (!span)
		return NULL;
	span->record = record;
	span->start_ns = now;
	span->end_ns = now;
	span->child_ns = 0;
	span->number = trace->started;
	span->parent = parent;
	span->status = 0;
	span->severity = IOCX_SEVERITIES;
	span->flags = (__u8)flags;
	return span;
}

/* How the record is after the call: SEVR, and STAT above it. */
static __always_inline __u32 alarm_of(const struct iocx_ioc_config *config, __u64 record)
{
	__u16 alarm[2] = {0, IOCX_SEVERITIES}; /* STAT and SEVR, which are neighbours in every version of Base */

	if (config->sevr != config->stat + 2 ||
	    bpf_probe_read_user(alarm, sizeof(alarm), (void *)(record + config->stat)))
		return IOCX_SEVERITIES;
	return (__u32)alarm[0] << 16 | alarm[1];
}

static __always_inline void set_alarm(struct iocx_trace_span *span, __u32 alarm)
{
	span->status = (__u16)(alarm >> 16);
	span->severity = (__u8)((alarm & 0xFFFF) < IOCX_SEVERITIES ? alarm & 0xFFFF : IOCX_SEVERITIES);
}

#endif
