/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Brings the data of segments into the order of the stream. Part of ca/tap.bpf.c; the lock of the direction is
 * held.
 *
 * A segment that starts where the last one ended is read at once: nearly all do. Others are stored in the window of
 * the direction until the missing bytes have come. The stream is read in pieces: the data of the packet, or the
 * part of it that one page of the window holds.
 */

/* The next piece is the data of the packet, without bytes that were read before. */
static __always_inline void set_up_packet(struct work *w, struct iocx_ca_flow *flow, struct iocx_ca_direction *d)
{
	const struct segment *segment = &w->segment;
	const __u32 seen = d->next - segment->seq;

	w->page = 0;
	w->data_at = segment->data_at + seen;
	d->next = segment->seq + segment->length;
	count_bytes(flow, segment->direction, segment->length - seen);
	iocx_ca_begin(&d->stream, &w->window, segment->direction, segment->length - seen);
}

/* The next piece is the start of the chosen extent, as far as it lies in one page. */
static __always_inline void set_up_page(struct work *w, struct iocx_ca_flow *flow, struct iocx_ca_direction *d,
					const struct iocx_ca_page *window)
{
	const __u32 at = d->next % IOCX_CA_PAGE;
	__u32 length = w->choice.to - d->next;
	__u64 place = iocx_ca_place(d->next);

	IOCX_CA_MASK(place, IOCX_CA_WINDOW_PAGES - 1);
	w->goes_on = length > IOCX_CA_PAGE - at;
	if (w->goes_on)
		length = IOCX_CA_PAGE - at;
	w->page = window->pages[place];
	w->data_at = at;
	d->next += length;
	count_bytes(flow, w->window.direction, length);
	iocx_ca_begin(&d->stream, &w->window, w->window.direction, length);
}

/* Skips `missing` bytes of the stream: they will not be seen. */
static __always_inline void pass_hole(struct __sk_buff *skb, struct work *w, struct iocx_ca_direction *d, __u32 missing)
{
	if (iocx_ca_gap(&d->stream, &w->event, missing))
		count_drop(IOCX_CA_DROP_GAP);
	if (w->event.kind == IOCX_CA_PUT)
		ca_finished_put(skb);
	d->next += missing;
}

/* Sets up the data of the packet when it comes next, and returns 1; else stores it. */
static __always_inline int place_packet(struct __sk_buff *skb, struct work *w, struct iocx_ca_flow *flow,
					struct iocx_ca_direction *d)
{
	const __s32 ahead = (__s32)(w->segment.seq - d->next);

	if (ahead <= 0 && ahead > -FAR_OFF) {
		w->waits = 0;
		if ((__u32)-ahead >= w->segment.length)
			return 0;
		set_up_packet(w, flow, d);
		return 1;
	}
	if (ca_store(skb)) {
		w->waits = 0;
	} else {
		w->force = 1;
		count_drop(IOCX_CA_DROP_WINDOWS_FULL);
	}
	return 0;
}

/*
 * Sets up the next piece when packets did not come in order. Returns 0 when there is none. It skips a hole when the
 * receiver has acknowledged the missing bytes, so that nobody sends them again, or when there is no room to wait.
 */
__attribute__((noinline)) int ca_next_piece(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);
	struct iocx_ca_page *window = 0;
	struct iocx_ca_direction *d;
	__u32 missing, ahead;

	if (!flow)
		return 0;
	d = direction_of(flow, w->window.direction);
	w->force = 0;
	if (flow->not_ca)
		w->waits = 0;
	else if (w->waits && place_packet(skb, w, flow, d))
		return 1;
	w->choice.at = IOCX_CA_EXTENTS;
	if (d->window && !flow->not_ca) {
		window = get_page(d->window);
		if (window)
			iocx_ca_next_extent(window, &w->choice, d->next);
	}
	ahead = w->segment.seq - d->next;
	if (!window || w->choice.at == IOCX_CA_EXTENTS) {
		if (d->window)
			ca_close_window(skb, w->window.direction);
		if (!w->waits)
			return 0;
		goto read_packet;
	}
	missing = w->choice.from - d->next;
	if ((__s32)missing > 0) {
		if (w->waits && ahead <= missing)
			goto read_packet;
		if (!w->force && (__s32)(d->acked - w->choice.from) < 0)
			return 0;
		pass_hole(skb, w, d, missing);
	} else if (!w->goes_on) {
		count_drop(IOCX_CA_DROP_HOLE_FILLED);
	}
	set_up_page(w, flow, d, window);
	return 1;
read_packet:
	w->waits = 0;
	pass_hole(skb, w, d, ahead);
	set_up_packet(w, flow, d);
	return 1;
}

/* Reads the piece that ca_next_piece() has set up. */
__attribute__((noinline)) int ca_read_piece(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);

	if (!flow)
		return 0;
	read_piece(skb, w, direction_of(flow, w->window.direction));
	return 0;
}

/* Reads all that can be read of the window and, when it waits, of the packet. */
__attribute__((noinline)) int ca_read_pieces(struct __sk_buff *skb)
{
	struct work *w = get_work();

	if (!w)
		return 0;
	w->goes_on = 0;
	for (__u32 i = 0; i < PIECES; i++) {
		if (!ca_next_piece(skb))
			return 0;
		ca_read_piece(skb);
	}
	return 0;
}

/* The circuit has ended when all bytes of a direction have come. */
static __always_inline void end_at_fin(struct iocx_ca_flow *flow, const struct iocx_ca_direction *d)
{
	if (d->fin && (__s32)(d->next - d->fin_at) >= 0)
		flow->ended = 1;
}

/* Reads a segment with data. */
static __always_inline void read_segment(struct __sk_buff *skb, struct work *w, struct iocx_ca_flow *flow,
					 struct iocx_ca_direction *d, const struct segment *segment)
{
	__s32 ahead;

	if (!d->next_known) {
		d->next = segment->seq;
		d->next_known = 1;
	}
	ahead = (__s32)(segment->seq - d->next);
	w->waits = ahead > 0 || ahead <= -FAR_OFF;
	if (!w->waits && (__u32)-ahead >= segment->length)
		return;
	if (flow->ended && segment->direction == IOCX_CA_TO_SERVER) {
		count_drop(IOCX_CA_DROP_AFTER_END);
		return;
	}
	if (flow->refused_ns && segment->direction == IOCX_CA_TO_SERVER && w->now - flow->refused_ns > REFUSED_NS) {
		flow->refused_ns = 0;
		if (iocx_ca_is_refused(&d->stream))
			iocx_ca_read_on(&d->stream);
	}
	if (!w->waits) {
		set_up_packet(w, flow, d);
		read_piece(skb, w, d);
	}
	if (w->waits || d->window) {
		w->window.direction = segment->direction;
		ca_read_pieces(skb);
	}
}
