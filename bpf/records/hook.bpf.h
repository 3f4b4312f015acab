/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The hook for what follows the calls of a thread: on_frame() gets each event of a frame. Traces are on it
 * (traces/chains.bpf.h); while they are off, it is nothing.
 */
#ifndef IOC_EXPORTER_BPF_RECORD_HOOK_H
#define IOC_EXPORTER_BPF_RECORD_HOOK_H

enum frame_event {
	FRAME_PUSHED,   /* a timed call has its frame, on top; `value`: CALLERS() */
	FRAME_DIRECT,   /* the same for a processing without dbProcess */
	FRAME_POPPED,   /* a timed call is over, at the time `value`, and its frame was just popped */
	FRAME_DISABLED, /* the same, and its record was disabled */
	FRAME_LOST,     /* the same, but its end was not seen, and it is over by now */
	CALL_ACTIVE,    /* a call of the record `value` has no frame, since the record is active */
	CALL_DISABLED,  /* the same, since it is disabled */
	CALL_TOO_DEEP   /* the same, since it nests too deep */
};

/*
 * Of who is on the hook; `flags` are those of a span (shared/traces.h), 0: none. Global functions with numbers only, as discard_lost(): the verifier reads each once. What the caller
 * knows they look up again, which costs less than it takes to verify it. One of all would take the stack of all.
 */
__noinline int frame_pushed(__u64 id, __u64 callers);
__noinline int frame_direct(__u64 id);
__noinline int frame_popped(__u64 id, __u64 now, __u32 flags);
__noinline int call_skipped(__u64 id, __u64 record, __u32 flags);
/* recGblFwdLink(), of a record that is not within its dbProcess; the call that it completes began at `start_ns`, 0: not known. */
__noinline int record_completed(__u64 id, __u64 record, __u64 sp, __u64 returns_to, __u64 start_ns);

/* Returns 1 when the record of a frame that was popped is active, as it is to complete later. */
static __always_inline int on_frame(enum frame_event event, __u64 id, __u64 value)
{
	if (!cfg_traces)
		return 0;
	switch (event) {
	case FRAME_PUSHED:
		return frame_pushed(id, value);
	case FRAME_DIRECT:
		return frame_direct(id);
	case FRAME_POPPED:
		return frame_popped(id, value, 0);
	case FRAME_DISABLED:
		return frame_popped(id, value, IOCX_TRACE_SPAN_DISABLED);
	case FRAME_LOST:
		return frame_popped(id, value, IOCX_TRACE_SPAN_CUT);
	case CALL_ACTIVE:
		return call_skipped(id, value, IOCX_TRACE_SPAN_ACTIVE);
	case CALL_DISABLED:
		return call_skipped(id, value, IOCX_TRACE_SPAN_DISABLED);
	case CALL_TOO_DEEP:
		return call_skipped(id, value, 0);
	}
	return 0;
}

#endif
