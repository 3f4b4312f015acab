// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/*
 * Counts Channel Access puts per channel from the TCP segments that ca_packet.bpf.c finds.
 *
 * Helpers and instructions are those of Linux 5.10, but for the compare-and-swap of ca_tap_swap: a
 * kernel before 5.12 refuses a program that holds one, even where it cannot be reached
 * (replace_map_fd_with_map_ptr() looks at every instruction), so ca_tap_insert takes its lock with a
 * map insert instead, and user space loads the one that the kernel accepts. bpf_spin_lock is refused
 * in socket filters.
 *
 * The messages of a segment are read by ca_burst(), a global function: the verifier checks it once, and
 * the loop around it costs next to nothing to check, where 5.10 has no bpf_loop(). Such a function takes
 * no pointers before 5.12, so what the two share lives in a per-CPU map value.
 */
#include <linux/types.h>
#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "shared/ca_tap.h"
#include "shared/put_histogram.h"

#define TCP_FIN 0x01
#define TCP_SYN 0x02
#define TCP_RST 0x04
#define TCP_ACK 0x10
/* No window is larger than 1 GiB; what is further off belongs to another connection. */
#define FAR_OFF (1 << 28)

#define MESSAGES_PER_BURST 16
#define BURSTS 272 /* a loopback segment of 64 KiB holds 4,096 messages of 16 bytes, and some steps more */
/* Some 300 us, longer than the longest segment takes; the verifier follows each spin by itself. */
#define SPINS 1024
#define DELAY 10 /* clock readings of some 25 ns, one after another */

#define CA_WORK struct work
struct work;
#include "ca_segment.bpf.h"
#include "ca_servers.bpf.h"
#include "ca_tap_maps.bpf.h"

static __always_inline struct work *get_work(void)
{
	const __u32 zero = 0;

	return bpf_map_lookup_elem(&ca_work, &zero);
}

/* Never used twice: the CPU stands in the upper bits. */
static __always_inline __u64 new_id(struct work *w)
{
	w->last_id++;
	return ((__u64)(bpf_get_smp_processor_id() + 1) << 48) | w->last_id;
}

#include "ca_tap_channels.bpf.h"
#include "ca_tap_puts.bpf.h"
#include "ca_tap_outcomes.bpf.h"
#include "ca_tap_packet.bpf.h"

/* Bytes for the window, from its `pos` on. */
static __always_inline int fill(struct __sk_buff *skb, struct work *w, struct iocx_ca_stream *s)
{
	struct iocx_ca_window *window = &w->window;
	__u32 lead = 0, from = 0, size;
	__u64 wanted;

	if (window->pos == 0 && window->carried) {
		iocx_ca_copy(window->bytes, s->carry, IOCX_CA_CARRY);
		lead = window->carried;
		s->have = 0;
	} else {
		from = window->pos - window->carried;
	}
	size = window->end - window->carried - from;
	if (size > IOCX_CA_FILL)
		size = IOCX_CA_FILL;
	if (size == 0)
		return -1;
	/* What changes no value here is for the verifier of 5.10: it must see that 1 <= wanted. */
	wanted = size - 1;
	IOCX_CA_MASK(lead, IOCX_CA_CARRY - 1);
	IOCX_CA_MASK(wanted, IOCX_CA_ROOM - IOCX_CA_CARRY - 1);
	asm volatile("%0 += 1" : "+r"(wanted));
	window->base = window->pos;
	return bpf_skb_load_bytes(skb, w->data_at + from, window->bytes + lead, wanted);
}

/*
 * The event in the work area, one that makes or ends a channel or tells who asks. Returns 1 when the
 * rest of the segment is of no interest. A global function like ca_burst(), and for the same reason.
 */
__attribute__((noinline)) int ca_event(struct __sk_buff *skb)
{
	struct work *w = get_work();
	struct iocx_ca_flow *flow;

	asm volatile("" : : "r"(skb)); /* else clang passes none: the verifier wants a context */
	if (!w)
		return 1;
	flow = bpf_map_lookup_elem(&ca_flows, &w->key);
	if (!flow)
		return 1;
	return on_event(w, flow, &w->event);
}

/* Reads up to MESSAGES_PER_BURST messages of the segment in the work area. Returns 1 at its end. */
__attribute__((noinline)) int ca_burst(struct __sk_buff *skb)
{
	struct work *w = get_work();
	struct iocx_ca_stream *s;
	struct iocx_ca_flow *flow;
	__u64 direction;

	if (!w)
		return 1;
	flow = bpf_map_lookup_elem(&ca_flows, &w->key);
	if (!flow)
		return 1;
	direction = w->window.direction;
	IOCX_CA_MASK(direction, 1);
	s = &flow->directions[direction].stream;

	if (s->sync == IOCX_CA_LOST && w->window.pos == 0) {
		if (fill(skb, w, s))
			return 1;
		iocx_ca_find(s, &w->window);
		if (s->sync == IOCX_CA_LOST)
			return 1;
	}
#pragma clang loop unroll(disable)
	for (int i = 0; i < MESSAGES_PER_BURST; i++) {
		/* Opaque to clang: else it keeps the address of each member on the stack. */
		asm volatile("" : "+r"(w), "+r"(s), "+r"(flow));
		if (iocx_ca_wants_bytes(s, &w->window) && fill(skb, w, s))
			return 1;
		if (iocx_ca_step(s, &w->window, &w->event) == IOCX_CA_DONE)
			return 1;
		if (w->event.kind == IOCX_CA_PUT)
			on_put(skb, w, flow);
		else if (w->event.kind == IOCX_CA_NOTHING)
			continue;
		else if (w->event.kind <= IOCX_CA_UPDATE)
			count_message(flow, w->event.kind);
		else if (w->event.kind < IOCX_CA_RIGHTS || w->event.kind > IOCX_CA_ERROR) {
			if (ca_event(skb))
				return 1;
		} else {
			ca_outcome(skb);
		}
	}
	return 0;
}

/*
 * Where the segment stands in its stream. Returns how many of its first bytes were seen before, or -1
 * when it has nothing new.
 */
static __always_inline int place_in_stream(struct __sk_buff *skb, struct work *w,
					   struct iocx_ca_direction *d, const struct segment *segment)
{
	__s32 ahead;

	if (!d->next_known) {
		d->next = segment->seq;
		d->next_known = 1;
	}
	ahead = (__s32)(segment->seq - d->next);
	if (ahead == 0)
		return 0;
	if (ahead < 0 && ahead > -FAR_OFF) {
		if ((__u32)-ahead >= segment->length)
			return -1;
		return -ahead;
	}
	if (iocx_ca_gap(&d->stream, &w->event, ahead))
		count(IOCX_CA_DROP_GAP);
	if (w->event.kind == IOCX_CA_PUT)
		ca_held_put(skb);
	return 0;
}

/* A segment of a known connection, with its direction's lock held. */
static __always_inline void read_segment(struct __sk_buff *skb, struct work *w,
					 struct iocx_ca_flow *flow, struct iocx_ca_direction *d,
					 const struct segment *segment)
{
	const int seen = place_in_stream(skb, w, d, segment);
	const __u8 sync = d->stream.sync;

	if (seen < 0)
		return;
	if (flow->ended && segment->direction == IOCX_CA_TO_SERVER) {
		count(IOCX_CA_DROP_AFTER_END);
		return;
	}
	d->next = segment->seq + segment->length;
	w->data_at = segment->data_at + seen;
	iocx_ca_begin(&d->stream, &w->window, segment->direction, segment->length - seen);
	count_bytes(flow, segment->direction, segment->length - seen);
	for (int i = 0; i < BURSTS; i++) {
		if (ca_burst(skb))
			goto finished;
	}
	count(IOCX_CA_DROP_TOO_LONG);
	iocx_ca_lose(&d->stream, &w->window);
finished:
	if (sync < IOCX_CA_REGAINED && d->stream.sync == IOCX_CA_REGAINED)
		count(IOCX_CA_DROP_RESYNC);
}

#include "ca_tap_lock.bpf.h"

/* An ACK alone says nothing; a SYN without ACK is not answered yet. */
static __always_inline int says_something(const struct segment *segment)
{
	return segment->length || (segment->flags & (TCP_FIN | TCP_RST)) ||
	       (segment->flags & (TCP_SYN | TCP_ACK)) == (TCP_SYN | TCP_ACK);
}

/* A segment with a watched port. `swap` is a constant of the program: which lock it takes. */
static __always_inline void on_segment(struct __sk_buff *skb, struct work *w, const int swap)
{
	struct segment *segment = &w->segment;
	struct iocx_ca_direction *d;
	struct iocx_ca_flow *flow;
	struct lock lock;
	__u64 direction;

	if (!says_something(segment))
		return;
	w->now = bpf_ktime_get_ns() & ~1ULL;
	flow = find_flow(w, segment);
	if (!flow)
		return;
	if ((segment->flags & (TCP_SYN | TCP_ACK)) == (TCP_SYN | TCP_ACK)) {
		restart_flow(w, flow, segment, swap);
		return;
	}
	if (segment->length && !flow->not_ca) {
		direction = segment->direction;
		IOCX_CA_MASK(direction, 1);
		d = &flow->directions[direction];
		if (!acquire(&lock, flow, d, segment->direction, swap)) {
			count(IOCX_CA_DROP_LOCK_TIMEOUT);
			return;
		}
		read_segment(skb, w, flow, d, segment);
		release(&lock, d, swap);
	}
	if (segment->flags & (TCP_FIN | TCP_RST))
		flow->ended = 1;
}

static __always_inline int after_ca_tap(struct __sk_buff *skb, const int swap)
{
	struct work *w = get_work();

	if (!w)
		return 0;
	on_segment(skb, w, swap);
	w->busy = 0;
	return 0;
}

SEC("socket")
int ca_tap_swap(struct __sk_buff *skb)
{
	return after_ca_tap(skb, 1);
}

SEC("socket")
int ca_tap_insert(struct __sk_buff *skb)
{
	return after_ca_tap(skb, 0);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
