/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The events of puts as they travel, and of the answers to put-callbacks. Part of tap/tap.bpf.c; the lock of the
 * message's direction is held.
 */

#include "putlog/events.bpf.h"

static __always_inline __u32 putlog_place_of(const struct iocx_ca_flow *flow)
{
	return iocx_putlog_place(cfg_putlog_seed, IOCX_PUTLOG_CA_TAP, flow->ioc, flow->holder);
}

static __always_inline void putlog_set_client(struct iocx_putlog_event *event, const struct work *w)
{
	__builtin_memcpy(event->address, w->key.client.bytes, sizeof event->address);
	event->port = w->key.client_port;
}

/* The value of a message that lies in the packet as a whole. */
static __always_inline void putlog_add_value(struct __sk_buff *skb, struct work *w, struct iocx_putlog_event *event,
					     __u32 room)
{
	const struct iocx_ca_header *h = &w->window.header;
	const __u32 at = w->data_at + w->window.pos - h->size - w->window.carried;
	__u64 last = h->size > room ? room : h->size; /* 64 bits: the verifier of 5.10 loses the bound of 32 */

	event->count = h->count;
	event->type = h->type;
	event->sent_bytes = h->size;
	if (w->page || !last)
		return;
	/* From 1 to `room`, as it must see. */
	last--;
	IOCX_CA_OPAQUE(last);
	if (last >= room)
		return;
	asm volatile("%0 += 1" : "+r"(last));
	if (!bpf_skb_load_bytes(skb, at, event->bytes, last))
		event->value_bytes = last;
}

/* Of a message whose header is not at hand. Which acknowledgement it was is not known either: it is sent as one of an alarm. */
static __always_inline void putlog_add_piece(const struct work *w, struct iocx_putlog_event *event)
{
	event->type = w->event.acknowledges ? IOCX_DBR_PUT_ACKS : IOCX_PUTLOG_NO_TYPE;
	event->count = w->event.acknowledges;
}

static __always_inline int putlog_send(struct __sk_buff *skb, struct work *w, const struct iocx_ca_flow *flow,
				       __u32 place, int whole, __u32 room)
{
	struct iocx_putlog_event *event = putlog_reserve(2 * room);

	if (!event)
		return putlog_count_no_room();
	__builtin_memset(event, 0, sizeof *event);
	event->time = w->now;
	event->lost = putlog_all_lost();
	event->id = w->pending.channel;
	event->slot = w->pending.slot;
	event->generation = flow->ioc;
	event->sid = w->event.id;
	event->ioid = w->event.other;
	event->room = room;
	event->source = IOCX_PUTLOG_CA_TAP;
	event->op = w->event.notify & 1;
	putlog_set_client(event, w);
	if (whole)
		putlog_add_value(skb, w, event, room);
	else
		putlog_add_piece(w, event);
	putlog_submit(event, place, 2 * room);
	return 0;
}

/* The put of w->event, which was counted. */
__attribute__((noinline)) int ca_log_put(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);
	__u32 place;
	int whole;

	if (!cfg_putlog_bytes || !flow || is_probed(w, flow))
		return 0;
	place = putlog_place_of(flow);
	whole = w->event.at != IOCX_CA_FINISHED;
	if (!putlog_has_share(place))
		return 0;
	if (!whole || w->window.header.size <= IOCX_PUTLOG_SMALL)
		return putlog_send(skb, w, flow, place, whole, IOCX_PUTLOG_SMALL);
	return putlog_send(skb, w, flow, place, whole, cfg_putlog_bytes);
}

/* The server has answered the put that was sent at `since_ns`. */
static __always_inline void on_put_ended(const struct work *w, const struct iocx_ca_flow *flow, __u64 since_ns,
					 __u32 ioid, __u32 status)
{
	const __u32 place = putlog_place_of(flow);
	struct iocx_putlog_event *event;

	if (!cfg_putlog_bytes)
		return;
	event = putlog_result(place, IOCX_PUTLOG_CA_TAP, IOCX_PUTLOG_ANSWER);
	if (!event)
		return;
	event->time = w->now;
	event->id = since_ns;
	event->generation = flow->ioc;
	event->ioid = ioid;
	event->count = status;
	putlog_set_client(event, w);
	putlog_submit(event, place, 0);
}

/* The put of w->event, which was counted. */
static __always_inline void on_put(struct __sk_buff *skb)
{
	if (cfg_putlog_bytes)
		ca_log_put(skb);
}
