/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Finds message boundaries again (shared/ca_resync.h) with the help of the circuit's known channels. Part of
 * tap/tap.bpf.c; the lock of the direction is held.
 */

#define SEEK_STEPS 32 /* 64 KiB have 8,192 candidates; ca_burst() is called up to BURSTS times */

/* The TCP sequence number of the byte at the window's `pos`. */
static __always_inline __u32 seq_of_pos(const struct work *w, const struct iocx_ca_direction *d)
{
	return d->next - (w->window.end - w->window.pos);
}

/* Whether the circuit has the channel that the header names. */
static __always_inline __u32 trust_in(const struct work *w, const struct iocx_ca_flow *flow)
{
	const __u32 names = iocx_ca_names(w->window.direction, &w->window.header);
	struct iocx_ca_channel_key key;
	const void *found;

	if (names == IOCX_CA_NAMES_NONE)
		return IOCX_CA_NAMELESS;
	if (names == IOCX_CA_NAMES_NEW || flow->joined) /* not all of its channels are known */
		return IOCX_CA_TRUSTED;
	set_channel_key(&key, flow->circuit, w->window.header.parameter1);
	if (names == IOCX_CA_NAMES_SID)
		found = bpf_map_lookup_elem(&ca_sids, &key);
	else
		found = bpf_map_lookup_elem(&ca_cids, &key);
	if (found)
		return IOCX_CA_TRUSTED;
	count_drop(IOCX_CA_DROP_ORPHAN);
	return IOCX_CA_REFUSED;
}

/* Copies the bytes that the search asks for from the packet or the page. */
static __always_inline int load_header(struct __sk_buff *skb, struct work *w, __u32 size)
{
	const __u32 from = w->window.seek.at - w->window.carried;
	struct iocx_ca_page *page;
	__u64 at = w->window.seek.at;

	if (w->window.seek.at < w->window.carried) {
		IOCX_CA_MASK(at, IOCX_CA_CARRY - 1);
		iocx_ca_copy(w->window.seek.bytes, w->window.bytes + at, IOCX_CA_LONG_HEADER);
		return 0;
	}
	if (!w->page && size == IOCX_CA_HEADER)
		return bpf_skb_load_bytes(skb, w->data_at + from, w->window.seek.bytes, IOCX_CA_HEADER);
	if (!w->page)
		return bpf_skb_load_bytes(skb, w->data_at + from, w->window.seek.bytes, IOCX_CA_LONG_HEADER);
	page = get_page(w->page);
	if (!page)
		return -1;
	at = w->data_at + from;
	IOCX_CA_MASK(at, IOCX_CA_PAGE - 1);
	iocx_ca_copy(w->window.seek.bytes, page->bytes + at, IOCX_CA_LONG_HEADER);
	return 0;
}

/* One step of the search (shared/ca_resync.h). */
__attribute__((noinline)) int ca_seek_step(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);
	__u32 trust = IOCX_CA_REFUSED, size;

	if (!flow)
		return IOCX_CA_SEEK_END;
	size = iocx_ca_seek_wants(&w->window);
	if (size && load_header(skb, w, size) == 0 && iocx_ca_seek_header(&w->window, size))
		trust = trust_in(w, flow);
	return iocx_ca_seek(&direction_of(flow, w->window.direction)->stream, &w->window, trust, !flow->joined);
}

/* Copies up to CARRY bytes of the current piece, from `from` on, into the window. */
static __always_inline int load_some(struct __sk_buff *skb, struct work *w, __u64 lead, __u32 from, __u32 size)
{
	__u64 wanted;

	if (size == 0)
		return 0;
	if (size > IOCX_CA_CARRY)
		size = IOCX_CA_CARRY;
	IOCX_CA_MASK(lead, IOCX_CA_CARRY - 1);
	if (w->page)
		return ca_load_page(skb, lead, from);
	/* As in fill(): the verifier of 5.10 must see that 1 <= wanted. */
	wanted = size - 1;
	IOCX_CA_MASK(wanted, IOCX_CA_CARRY - 1);
	asm volatile("%0 += 1" : "+r"(wanted));
	return bpf_skb_load_bytes(skb, w->data_at + from, w->window.bytes + lead, wanted);
}

/* Puts what was carried over together with the start of the piece. */
__attribute__((noinline)) int ca_glue(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);
	struct iocx_ca_window *window;

	if (!flow)
		return 1;
	window = &w->window;
	iocx_ca_copy(window->bytes, direction_of(flow, window->direction)->stream.carry, IOCX_CA_CARRY);
	return load_some(skb, w, window->carried, 0, window->end - window->carried);
}

/* The piece has no boundary: carries over what is searched together with the next one. */
__attribute__((noinline)) int ca_keep_tail(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);
	struct iocx_ca_window *window;
	struct iocx_ca_stream *s;
	__u32 tail, length;
	__u64 from = 0;

	if (!flow)
		return 0;
	window = &w->window;
	s = &direction_of(flow, window->direction)->stream;
	tail = iocx_ca_tail(s, window);
	length = window->end - window->carried;
	if (tail > length)
		from = window->end - tail; /* all of the piece was put behind the carried bytes */
	else if (load_some(skb, w, 0, length - tail, tail))
		tail = 0;
	IOCX_CA_MASK(from, IOCX_CA_CARRY - 1);
	iocx_ca_copy(s->carry, window->bytes + from, IOCX_CA_CARRY);
	s->have = tail;
	return 0;
}

/*
 * The segment has more candidates than can be looked at: what was found in it decides. Its end is searched together with
 * the next one all the same.
 */
static __always_inline void stop_seek(struct __sk_buff *skb, struct work *w, struct iocx_ca_direction *d)
{
	struct iocx_ca_resync *seek = &w->window.seek;

	iocx_ca_lose(&d->stream, &w->window);
	if (seek->active && seek->cut_row) {
		seek->at = seek->cut_at;
		d->stream.sync = IOCX_CA_TENTATIVE;
		d->stream.row = seek->cut_row;
	}
	seek->active = 0;
	ca_keep_tail(skb);
}

/* Bytes that were carried over have been counted already. */
static __always_inline void count_passed(const struct work *w, struct iocx_ca_flow *flow, __u32 start)
{
	if (start < w->window.carried)
		start = w->window.carried;
	if (w->window.pos > start)
		count_unread(flow, w->window.direction, w->window.pos - start);
}

/* Goes on with the search. Returns 1 when the segment has no boundary. */
__attribute__((noinline)) int ca_seek(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);
	struct iocx_ca_direction *d;
	__u32 start;

	if (!flow)
		return 1;
	d = direction_of(flow, w->window.direction);
	if (!w->window.seek.active) {
		iocx_ca_seek_place(&w->window);
		if (w->window.pos < w->window.carried && ca_glue(skb)) {
			iocx_ca_lose(&d->stream, &w->window);
			return 1;
		}
		if (d->boundary)
			iocx_ca_seek_begin(&d->stream, &w->window, (d->boundary - seq_of_pos(w, d)) & 7, 8);
		else
			iocx_ca_seek_begin(&d->stream, &w->window, 0, 1);
	}
	start = w->window.pos;
	for (int i = 0; i < SEEK_STEPS; i++) {
		const int result = ca_seek_step(skb);

		if (result == IOCX_CA_SEEK_END) {
			if (d->stream.sync == IOCX_CA_LOST || d->stream.row)
				count_passed(w, flow, start);
			ca_keep_tail(skb);
			return 1;
		}
		if (result == IOCX_CA_SEEK_FOUND) {
			count_passed(w, flow, start);
			if (w->window.pos < w->window.carried)
				iocx_ca_drop_carried(&d->stream, &w->window);
			if (d->stream.unfinished) {
				iocx_ca_finish_put(&d->stream, &w->event);
				ca_finished_put(skb);
			}
			return 0;
		}
	}
	count_passed(w, flow, start);
	return 0;
}

/*
 * Checks a put that was read while the boundaries are still unconfirmed. Returns 1 when it names no channel of the
 * circuit: then the search starts again behind it.
 */
__attribute__((noinline)) int ca_refuses_put(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);
	struct iocx_ca_channel_key key;

	if (!flow)
		return 1;
	set_channel_key(&key, flow->circuit, w->event.id);
	if (flow->joined || bpf_map_lookup_elem(&ca_sids, &key))
		return 0;
	count_drop(IOCX_CA_DROP_ORPHAN);
	direction_of(flow, w->window.direction)->stream.sync = IOCX_CA_LOST;
	return 1;
}
