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

/* Whether the circuit has the channel that a message names. */
static __always_inline __u32 trust_in(const struct iocx_ca_flow *flow, __u32 names, __u32 id)
{
	struct iocx_ca_channel_key key;
	const void *found;

	if (names == IOCX_CA_NAMES_NONE)
		return IOCX_CA_NAMELESS;
	if (names == IOCX_CA_NAMES_NEW || flow->lacks_channels) /* not all of its channels are known */
		return IOCX_CA_TRUSTED;
	set_channel_key(&key, flow->circuit, id);
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
	__u64 at;

	if (!w->page && size == IOCX_PVA_HEADER)
		return bpf_skb_load_bytes(skb, w->data_at + from, w->window.seek.bytes, IOCX_PVA_HEADER);
	if (!w->page && size == IOCX_CA_HEADER)
		return bpf_skb_load_bytes(skb, w->data_at + from, w->window.seek.bytes, IOCX_CA_HEADER);
	if (!w->page && size == IOCX_PVA_PUT_HEAD)
		return bpf_skb_load_bytes(skb, w->data_at + from, w->window.seek.bytes, IOCX_PVA_PUT_HEAD);
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
		trust = trust_in(flow, iocx_ca_names(w->window.direction, &w->window.header),
				 w->window.header.parameter1);
	return iocx_ca_seek(&direction_of(flow, w->window.direction)->stream, &w->window, trust, !flow->lacks_channels);
}

/* The segment has more candidates than can be looked at. */
static __always_inline void stop_seek(struct work *w, struct iocx_ca_direction *d)
{
	iocx_ca_lose(&d->stream, &w->window);
	w->window.seek.active = 0;
}

/* Where bytes start that are not counted as unread yet: carried ones are. */
static __always_inline __u32 unread_from(const struct work *w)
{
	return w->window.pos < w->window.carried ? w->window.carried : w->window.pos;
}

static __always_inline void count_passed(const struct work *w, struct iocx_ca_flow *flow, __u32 start)
{
	if (w->window.pos > start)
		count_unread(flow, w->window.direction, w->window.pos - start);
}

/* Of a candidate that was found, no request was answered yet. */
static __always_inline void begin_proof(const struct work *w, struct iocx_ca_flow *flow, int result)
{
	if (result == IOCX_CA_SEEK_FOUND && w->window.direction == IOCX_CA_TO_SERVER)
		flow->asked = 0;
}

/* Goes on with the search. Returns 1 when the segment has no boundary. */
__attribute__((noinline)) int ca_seek(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);
	struct iocx_ca_direction *d;
	int result = IOCX_CA_SEEK_ON;
	__u32 start;

	if (!flow)
		return 1;
	d = direction_of(flow, w->window.direction);
	start = unread_from(w);
	if (!w->window.seek.active) {
		if (d->boundary)
			iocx_ca_seek_begin(&w->window, (d->boundary - seq_of_pos(w, d)) & 7, 8);
		else
			iocx_ca_seek_begin(&w->window, 0, 1);
	}
	for (int i = 0; i < SEEK_STEPS && result == IOCX_CA_SEEK_ON; i++)
		result = ca_seek_step(skb);
	count_passed(w, flow, start);
	begin_proof(w, flow, result);
	return result == IOCX_CA_SEEK_END;
}

/*
 * Checks a put that was read soon after the boundaries were proved. Returns 1 when it names no channel of the
 * circuit: then the search starts again behind it.
 */
__attribute__((noinline)) int ca_refuses_put(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);

	if (!flow)
		return 1;
	if (trust_in(flow, IOCX_CA_NAMES_SID, w->event.id) != IOCX_CA_REFUSED)
		return 0;
	direction_of(flow, w->window.direction)->stream.sync = IOCX_CA_LOST;
	return 1;
}
