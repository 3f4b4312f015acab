/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The put log's ring buffer, and room in it. An object that includes this is loaded with the ring of all, or, while
 * the put log is off, without: cfg_putlog_bytes is 0 then, and the verifier takes out what follows from it.
 *
 * Nobody waits: an event without room is counted, and the next one that has room tells how many were before it.
 */
#ifndef IOC_EXPORTER_BPF_PUTLOG_EVENTS_BPF_H
#define IOC_EXPORTER_BPF_PUTLOG_EVENTS_BPF_H

#include "shared/putlog.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} putlog_events SEC(".maps");

/* Of a value that are kept, a multiple of 8; 0: the put log is off. */
const volatile __u32 cfg_putlog_bytes;
/* The reader looks by itself every few milliseconds, and is woken when more than this waits for it. */
const volatile __u32 cfg_putlog_wake;

__u64 putlog_lost;

static __always_inline struct iocx_putlog_event *putlog_count_loss(struct iocx_putlog_event *event)
{
	if (!event)
		__sync_fetch_and_add(&putlog_lost, 1);
	return event;
}

/* Sizes of events are constants to the verifier, as Linux 5.10 asks for. */
static __always_inline struct iocx_putlog_event *putlog_small(void)
{
	return putlog_count_loss(
		bpf_ringbuf_reserve(&putlog_events, sizeof(struct iocx_putlog_event) + 2 * IOCX_PUTLOG_SMALL, 0));
}

static __always_inline struct iocx_putlog_event *putlog_large(void)
{
	return putlog_count_loss(
		bpf_ringbuf_reserve(&putlog_events, sizeof(struct iocx_putlog_event) + 2 * cfg_putlog_bytes, 0));
}

static __always_inline void putlog_submit(struct iocx_putlog_event *event)
{
	const int many = bpf_ringbuf_query(&putlog_events, BPF_RB_AVAIL_DATA) > cfg_putlog_wake;

	bpf_ringbuf_submit(event, many ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

#endif
