/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Reads the messages of one piece of a direction's stream: the packet's data, or what a page of the window holds.
 * Part of tap/tap.bpf.c; the lock of the direction is held.
 */

/* Fills the window from its `pos` on. */
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
	/* Changes no value: the verifier of 5.10 must see that 1 <= wanted. */
	wanted = size - 1;
	IOCX_CA_MASK(lead, IOCX_CA_CARRY - 1);
	IOCX_CA_MASK(wanted, IOCX_CA_ROOM - IOCX_CA_CARRY - 1);
	asm volatile("%0 += 1" : "+r"(wanted));
	window->base = window->pos;
	if (w->page)
		return ca_load_page(skb, lead, from);
	return bpf_skb_load_bytes(skb, w->data_at + from, window->bytes + lead, wanted);
}

/*
 * Handles the event in the work area, which makes or ends a channel or names the client. Returns 1 when the remainder of
 * the segment need not be read. A global function like ca_burst(), for the same reason.
 */
__attribute__((noinline)) int ca_event(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);

	if (!flow)
		return 1;
	if (cfg_searches && w->event.kind == IOCX_CA_CREATE)
		ca_found(skb);
	return on_event(w, flow, &w->event);
}

/* The boundaries are proved; the remainder of the message at hand is not read. */
static __always_inline void end_proof(struct work *w, struct iocx_ca_flow *flow, struct iocx_ca_stream *s)
{
	iocx_ca_regain(s);
	count_unread(flow, w->window.direction, (__u32)s->skip);
}

/*
 * Reads the headers of messages of either protocol, whose boundaries are not proved yet, and counts their bytes as
 * unread. Returns 1 at the end of the piece.
 */
__attribute__((noinline)) int ca_prove(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);
	struct iocx_ca_direction *d;
	struct iocx_ca_stream *s;
	int result, is_pva;

	if (!flow)
		return 1;
	d = direction_of(flow, w->window.direction);
	s = &d->stream;
	is_pva = iocx_ca_is_pva(flow->ioc);
	if (w->window.direction == IOCX_CA_TO_SERVER && flow->asked == IOCX_CA_ANSWERED) {
		end_proof(w, flow, s);
		return 0;
	}
#pragma clang loop unroll(disable)
	for (int i = 0; i < MESSAGES_PER_BURST; i++) {
		__u32 start;

		asm volatile("" : "+r"(w), "+r"(s), "+r"(flow));
		if (iocx_ca_wants_bytes(s, &w->window) && fill(skb, w, s))
			return 1;
		start = unread_from(w);
		result = is_pva ? iocx_pva_doubt(&d->pva, &w->window, &w->event)
				: iocx_ca_doubt(s, &w->window, &w->event);
		count_passed(w, flow, start);
		if (result != IOCX_CA_MORE)
			return result == IOCX_CA_DONE;
		if (w->event.kind != IOCX_CA_DOUBTED)
			continue;
		if (iocx_ca_judge(s, &w->event, trust_in(flow, w->event.size, w->event.id)))
			end_proof(w, flow, s);
		if (s->sync != IOCX_CA_UNPROVED)
			return 0;
		if (w->event.notify && !flow->asked)
			flow->asked = IOCX_CA_ASKED | w->event.other;
	}
	return 0;
}

/* Reads up to MESSAGES_PER_BURST messages of the current piece. Returns 1 at its end. */
__attribute__((noinline)) int ca_burst(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);
	struct iocx_ca_stream *s;
	int result;

	if (!flow)
		return 1;
	s = &direction_of(flow, w->window.direction)->stream;

	if (iocx_ca_is_out_of_sync(s))
		return ca_seek(skb);
	if (s->sync == IOCX_CA_UNPROVED)
		return ca_prove(skb);
#pragma clang loop unroll(disable)
	for (int i = 0; i < MESSAGES_PER_BURST; i++) {
		/* Hidden from clang, which would keep the address of each member on the stack. */
		asm volatile("" : "+r"(w), "+r"(s), "+r"(flow));
		if (iocx_ca_wants_bytes(s, &w->window) && fill(skb, w, s))
			return 1;
		result = iocx_ca_step(s, &w->window, &w->event);
		if (result != IOCX_CA_MORE)
			return result == IOCX_CA_DONE;
		if (w->event.kind == IOCX_CA_PUT) {
			if (s->sync == IOCX_CA_REGAINED && ca_refuses_put(skb))
				return 0;
			take_put(skb, w, flow);
		} else if (w->event.kind == IOCX_CA_NOTHING) {
			continue;
		} else if (w->event.kind <= IOCX_CA_UPDATE) {
			count_message(flow, w->event.kind);
		} else if (w->event.kind < IOCX_CA_RIGHTS || w->event.kind > IOCX_CA_ERROR) {
			if (ca_event(skb))
				return 1;
		} else if (ca_outcome(skb)) {
			ca_event(skb);
		}
	}
	return 0;
}
