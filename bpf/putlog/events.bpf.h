/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The put log's ring buffer, and room in it. An object that includes this is loaded with the ring of all, or, while
 * the put log is off, without: cfg_putlog_bytes is 0 then, and the verifier takes out what follows from it.
 *
 * The IOC never waits: an event without room is counted, and the next event with room carries the number of lost ones. An
 * event whose client is above its share of the ring is counted likewise.
 *
 * Programs that count puts call on_put() and its like, of the header here that is for them, at all that happens to one.
 */
#ifndef IOC_EXPORTER_BPF_PUTLOG_EVENTS_BPF_H
#define IOC_EXPORTER_BPF_PUTLOG_EVENTS_BPF_H

#include "base/ring_shares.bpf.h"
#include "shared/putlog.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} putlog_events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 2 * IOCX_PUTLOG_PLACES);
	__type(key, __u32);
	__type(value, __u64); /* shared/ring_shares.h */
} putlog_shares SEC(".maps");

/* Of a value that are kept, a multiple of 8; 0: the put log is off. */
const volatile __u32 cfg_putlog_bytes;
/* The reader looks by itself every few milliseconds, and is woken when more than this waits for it. */
const volatile __u32 cfg_putlog_wake;
const volatile __u32 cfg_putlog_ring;  /* its size */
const volatile __u64 cfg_putlog_seed;  /* of iocx_putlog_place() */
const volatile __u32 cfg_putlog_after; /* 1: the end of a put is sent with what its field has then */

__u64 putlog_lost[IOCX_PUTLOG_LOSSES];
__u64 putlog_lost_answers;

/* Events that were lost, of all reasons. */
static __always_inline __u64 putlog_all_lost(void)
{
	return putlog_lost[IOCX_PUTLOG_NO_ROOM] + putlog_lost[IOCX_PUTLOG_NO_SHARE];
}

/* Whether the client at that place may have one more event. */
static __noinline int putlog_may(__u32 place)
{
	return ring_may(&putlog_events, cfg_putlog_ring, &putlog_shares, IOCX_PUTLOG_PLACES, place);
}

static __always_inline int putlog_has_share(__u32 place)
{
	if (putlog_may(place))
		return 1;
	__sync_fetch_and_add(&putlog_lost[IOCX_PUTLOG_NO_SHARE], 1);
	return 0;
}

/*
 * Room for an event and so many bytes behind it: a constant to the verifier, as Linux 5.10 asks for. NULL: there is none. To be
 * compared with NULL once: before Linux 6.3 the verifier has forgotten it by the second time.
 */
static __always_inline struct iocx_putlog_event *putlog_reserve(__u32 bytes)
{
	return bpf_ringbuf_reserve(&putlog_events, sizeof(struct iocx_putlog_event) + bytes, 0);
}

static __always_inline int putlog_count_no_room(void)
{
	__sync_fetch_and_add(&putlog_lost[IOCX_PUTLOG_NO_ROOM], 1);
	return 0;
}

/* Of an event that says what became of a put. */
static __always_inline int putlog_count_lost_answer(void)
{
	__sync_fetch_and_add(&putlog_lost_answers, 1);
	return 0;
}

/* `payload`: bytes behind the event. */
static __always_inline void putlog_submit(struct iocx_putlog_event *event, __u32 place, __u32 payload)
{
	const int many = bpf_ringbuf_query(&putlog_events, BPF_RB_AVAIL_DATA) > cfg_putlog_wake;
	const __u64 bytes = iocx_ring_bytes(sizeof(struct iocx_putlog_event) + payload);

	event->place = place;
	ring_told(&putlog_shares, place, bytes);
	bpf_ringbuf_submit(event, many ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

/* An event that says what became of a put; NULL: there is no room for it. */
static __always_inline struct iocx_putlog_event *putlog_result(__u32 place, __u32 source, __u32 op)
{
	struct iocx_putlog_event *event = 0;

	if (putlog_may(place))
		event = putlog_reserve(0);
	if (!event) {
		putlog_count_lost_answer();
		return 0;
	}
	__builtin_memset(event, 0, sizeof *event);
	event->time = bpf_ktime_get_ns();
	event->lost = putlog_all_lost();
	event->source = source;
	event->op = op;
	return event;
}

#endif
