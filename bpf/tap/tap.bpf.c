// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/*
 * Counts Channel Access and PV Access puts per channel from the TCP segments that tap/packet.bpf.c finds.
 *
 * Helpers and instructions are those of Linux 5.10, but for the compare-and-swap of ca_tap_swap. A kernel before 5.12
 * refuses every program that contains one, even in dead code (replace_map_fd_with_map_ptr() looks at every
 * instruction). So ca_tap_insert takes its lock with a map insert instead, and user space loads the program that the
 * kernel accepts. Socket filters may not use bpf_spin_lock.
 *
 * ca_burst(), which reads messages, is a global function: the verifier checks it once, and the loop around it adds
 * nearly nothing, where 5.10 has no bpf_loop(). Before 5.12 a global function takes no pointers, so that functions
 * share data in the value of a per-CPU map, struct work.
 */
#include <linux/types.h>
#include <linux/bpf.h>
#include <linux/in.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "base/durations.bpf.h"
#include "base/maps.bpf.h"
#include "shared/ca_tap.h"
#include "shared/histogram.h"

#define TCP_FIN 0x01
#define TCP_SYN 0x02
#define TCP_RST 0x04
#define TCP_ACK 0x10
#define TCP_URG 0x20
/* Sequence numbers that are this far back do not belong to the connection: no TCP window is larger than 1 GiB. */
#define FAR_OFF (1 << 28)
/* The first data that is seen of a connection is hardly further from its start. */
#define FIRST_AHEAD (1 << 16)

/* A server that has refused a message closes the circuit much sooner. A client that still sends after this time is read. */
#define REFUSED_NS 2000000000ULL

/* A client that has sent nothing for so long has sent its last message whole. */
#define SILENCE_NS 2000000000ULL

#define LARGEST_PIECE 65536u /* bytes that one run of ca_read_piece() can read */
#define MESSAGES_PER_BURST 16
#define BURSTS 272 /* a loopback segment of 64 KiB holds 4,096 messages of 16 bytes; some steps read none */
/* The second half with long pauses: about 300 us, longer than the longest segment takes. The verifier follows each. */
#define SPINS 128
#define LONG_PAUSE 16
#define CLOCK_READINGS 10 /* of some 25 ns, one after another */
/* Most pieces that one segment makes readable: the pages of a window, each hole splits one more. */
#define PIECES (IOCX_CA_WINDOW_PAGES + IOCX_CA_EXTENTS + 8)
#define STORE_STEPS 48 /* a segment of 64 KiB has 32 chunks, and splits some at the ends of pages */

#define CA_WORK struct work
struct work;
#include "tap/segment.bpf.h"
#include "tap/servers.bpf.h"
#include "tap/tap_maps.bpf.h"

static __always_inline struct work *get_work(void)
{
	return only_element(&ca_work);
}

/*
 * Returns the connection of the segment in the work area, and the work area in `*w`: every global function starts
 * with this, since it can be given neither. Do not use `*w` when it returns null.
 */
static __always_inline struct iocx_ca_flow *flow_at_hand(struct __sk_buff *skb, struct work **w)
{
	asm volatile("" : : "r"(skb)); /* else clang passes none: the verifier wants a context */
	*w = get_work();
	return *w ? bpf_map_lookup_elem(&ca_flows, &(*w)->key) : 0;
}

/* `index`: IOCX_CA_TO_SERVER or IOCX_CA_TO_CLIENT. */
static __always_inline struct iocx_ca_direction *direction_of(struct iocx_ca_flow *flow, __u64 index)
{
	IOCX_CA_MASK(index, 1);
	return &flow->directions[index];
}

/* An id that was never used: the upper bits are the CPU. */
static __always_inline __u64 new_id(struct work *w)
{
	w->last_id++;
	return ((__u64)(bpf_get_smp_processor_id() + 1) << 48) | w->last_id;
}

#define HELD ca_held
#include "base/caps.bpf.h"
#include "tap/tap_slots.bpf.h"
#include "tap/tap_channels.bpf.h"
#include "putlog/ca_tap.bpf.h"
#include "tap/tap_puts.bpf.h"
#include "tap/tap_outcomes.bpf.h"
#include "tap/tap_packet.bpf.h"
#include "tap/tap_window.bpf.h"
#include "tap/tap_resync.bpf.h"
#include "tap/tap_messages.bpf.h"
#include "tap/tap_pva_puts.bpf.h"
#include "tap/tap_pva.bpf.h"
#include "tap/tap_stream.bpf.h"
#include "tap/tap_lock.bpf.h"

static __always_inline int is_in_turn(const struct iocx_ca_direction *d, const struct segment *segment)
{
	return d->next_known && segment->seq == d->next;
}

/*
 * Reads the data and the end of the direction that the segment goes in. The lock of the direction is held. An RST
 * counts at the very byte that comes next, as it does for the receiver (RFC 5961, 3.2): others may be forged, and what
 * they hide would be hidden for good. User space finds connections that have ended without a word.
 */
static __always_inline void on_data(struct __sk_buff *skb, struct work *w, struct iocx_ca_flow *flow,
				    struct iocx_ca_direction *d, const struct segment *segment)
{
	if (segment->flags & TCP_RST) {
		if (!is_in_turn(d, segment))
			return;
		flow->ended = 1;
		if (d->window)
			ca_close_window(skb, segment->direction);
		return;
	}
	if (segment->length && !d->next_known) {
		d->next = segment->seq;
		d->next_known = 1;
	}
	if (segment->length)
		read_segment(skb, w, flow, d, segment);
	/* The receiver leaves the urgent byte out of the stream (MSG_OOB): no client of Channel Access sends one. */
	if (segment->flags & TCP_URG)
		ca_lose_place(skb, segment->direction);
	end_at_fin(flow, d, segment);
}

/* Reads the acknowledgement of the other direction, whose lock is held. */
static __always_inline void on_ack(struct __sk_buff *skb, struct work *w, struct iocx_ca_flow *flow,
				   struct iocx_ca_direction *d, const struct segment *segment)
{
	const __s32 more = (__s32)(segment->ack - d->acked);

	if ((segment->flags & (TCP_ACK | TCP_RST)) == TCP_ACK && (more > 0 || more <= -FAR_OFF)) {
		d->acked = segment->ack;
		w->window.direction = !segment->direction;
		w->waits = 0;
		if (d->window)
			ca_read_pieces(skb);
		catch_up(skb, w, flow, d);
	}
	/* After the client has ended, answers of the server are still read, but not the other way round. */
	if (d->window && (segment->flags & TCP_RST ? is_in_turn(direction_of(flow, segment->direction), segment)
						   : flow->ended && segment->direction == IOCX_CA_TO_CLIENT))
		ca_close_window(skb, !segment->direction);
	leave_acks(d);
}

/*
 * Whether the segment may matter. A SYN does not, nor what it carries: without TCP Fast Open that is not delivered.
 * Without ACK, nothing is (RFC 9293, 3.10.7.4). A mere ACK matters where acknowledgements are wanted, and when this host's
 * server sends it over a network: that makes its connection known.
 */
static __always_inline int says_something(const struct segment *segment)
{
	if (segment->flags & TCP_SYN)
		return (segment->flags & TCP_ACK) != 0;
	if (!(segment->flags & (TCP_ACK | TCP_RST)))
		return 0;
	return segment->length || (segment->flags & (TCP_FIN | TCP_RST)) || windows ||
	       (segment->outgoing && !segment->loopback && segment->source_watched);
}

/* A segment with a watched port. `swap` is a constant of the program: which lock it takes. */
static __always_inline void on_segment(struct __sk_buff *skb, struct work *w, const int swap)
{
	struct segment *segment = &w->segment;
	struct iocx_ca_direction *d;
	struct iocx_ca_flow *flow;
	struct lock lock;
	int says;

	if (!says_something(segment))
		return;
	w->now = bpf_ktime_get_ns() & ~1ULL;
	flow = find_flow(w, segment);
	if (!flow)
		return;
	if ((segment->flags & (TCP_SYN | TCP_ACK)) == (TCP_SYN | TCP_ACK)) {
		restart_flow(skb, w, flow, segment, swap);
		return;
	}
	says = segment->length || (segment->flags & (TCP_FIN | TCP_RST));
	/* First what it acknowledges: its own data may be the answer to that. */
	d = direction_of(flow, !segment->direction);
	/* Without the lock nothing is lost: the next segment acknowledges the same bytes. */
	if (d->wants_acks && acquire(&lock, flow, d, !segment->direction, swap)) {
		on_ack(skb, w, flow, d, segment);
		release(&lock, d, swap);
	}
	if (!says)
		return;
	d = direction_of(flow, segment->direction);
	if (!acquire(&lock, flow, d, segment->direction, swap)) {
		count_drop(IOCX_CA_DROP_BUSY);
		return;
	}
	on_data(skb, w, flow, d, segment);
	release(&lock, d, swap);
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
