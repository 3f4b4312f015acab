/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Brings the data of segments into the order of the stream. Part of tap/tap.bpf.c; the lock of the direction is
 * held.
 *
 * A segment that starts where the last one ended is read at once: nearly all do. Others are stored in the window of
 * the direction until the missing bytes have come. The stream is read in pieces: the data of the packet, or the
 * part of it that one page of the window holds.
 */

/* The next piece is the data of the packet, without bytes that were read before. Returns 0 when some are left over. */
static __always_inline int set_up_packet(struct work *w, struct iocx_ca_flow *flow, struct iocx_ca_direction *d)
{
	const __u32 seen = d->next - w->segment.seq;
	const __u32 all = w->segment.length - seen;
	const __u32 length = all > LARGEST_PIECE ? LARGEST_PIECE : all;

	w->page = 0;
	w->data_at = w->segment.data_at + seen;
	d->next += length;
	count_bytes(flow, w->segment.direction, length);
	iocx_ca_begin(&d->stream, &w->window, w->segment.direction, length);
	return length == all;
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

/* Notes where in the stream messages start, as long as that is sure. */
static __always_inline void note_boundary(struct iocx_ca_direction *d)
{
	if (!d->boundary && d->stream.sync == IOCX_CA_FOLLOWED)
		d->boundary = 8 | ((d->next + (__u32)d->stream.skip - d->stream.have) & 7);
}

/* From here on, the place in the stream is not known. Global functions are off the path of all segments. */
__attribute__((noinline)) int ca_lose_place(struct __sk_buff *skb, __u32 direction)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);
	struct iocx_ca_direction *d;

	if (!flow)
		return 0;
	d = direction_of(flow, direction);
	if (iocx_ca_is_refused(&d->stream) || flow->alien)
		return 0;
	count_drop(IOCX_CA_DROP_GAP);
	if (d->stream.sync >= IOCX_CA_REGAINED)
		count_unread(flow, direction, d->stream.have);
	iocx_ca_lose_place(&d->stream);
	d->boundary = 0;
	return 0;
}

/* Reads the current piece. */
static __always_inline void read_piece(struct __sk_buff *skb, struct work *w, struct iocx_ca_flow *flow,
				       struct iocx_ca_direction *d)
{
	const int is_pva = iocx_ca_is_pva(flow->ioc);
	const __u8 sync = d->stream.sync;

	for (int i = 0; i < BURSTS; i++) {
		if (is_pva ? pva_burst(skb) : ca_burst(skb))
			goto finished;
	}
	count_drop(IOCX_CA_DROP_TOO_LONG);
	count_unread(flow, w->window.direction, w->window.end - w->window.pos);
	stop_seek(w, d);
finished:
	if (sync < IOCX_CA_REGAINED && d->stream.sync >= IOCX_CA_REGAINED)
		count_drop(IOCX_CA_DROP_RESYNC);
}

/* Skips `missing` bytes of the stream: they will not be seen. */
static __always_inline void pass_hole(struct __sk_buff *skb, struct work *w, struct iocx_ca_flow *flow,
				      struct iocx_ca_direction *d, __u32 missing)
{
	int is_lost;

	note_boundary(d);
	if (iocx_ca_is_pva(flow->ioc)) {
		is_lost = pva_gap(skb, missing);
	} else {
		is_lost = iocx_ca_gap(&d->stream, &w->event, missing);
		if (w->event.kind == IOCX_CA_PUT)
			ca_finished_put(skb);
	}
	if (is_lost) {
		count_drop(IOCX_CA_DROP_GAP);
		count_unread(flow, w->window.direction, missing);
	}
	d->next += missing;
}

/* Data is not stored any more: the receiver's acknowledgements show how far the stream is. */
static __always_inline void fall_behind(struct iocx_ca_direction *d)
{
	want_acks(d);
	d->behind = 1;
}

/*
 * Sets up the data of the packet when it comes next, and returns 1; else stores it. What finds no room is given up
 * when the receiver says that it has it: nothing that comes ahead of missing bytes can move the stream.
 */
static __always_inline int place_packet(struct __sk_buff *skb, struct work *w, struct iocx_ca_flow *flow,
					struct iocx_ca_direction *d)
{
	const __s32 ahead = (__s32)(w->segment.seq - d->next);

	if (ahead <= 0 && ahead > -FAR_OFF) {
		w->waits = 0;
		if ((__u32)-ahead >= w->segment.length)
			return 0;
		w->waits = !set_up_packet(w, flow, d);
		return 1;
	}
	w->waits = 0;
	if (!ca_store(skb)) {
		count_drop(IOCX_CA_DROP_WINDOWS_FULL);
		fall_behind(d);
	}
	return 0;
}

/* Chooses the next stored bytes that the receiver has acknowledged. Returns 0 when there are none. */
static __always_inline int choose_stored(struct __sk_buff *skb, struct work *w, struct iocx_ca_flow *flow,
					 struct iocx_ca_direction *d, struct iocx_ca_page *window)
{
	__u32 missing;

	iocx_ca_next_extent(window, &w->choice, d->next);
	if (w->choice.at == IOCX_CA_EXTENTS) {
		ca_close_window(skb, w->window.direction);
		return 0;
	}
	missing = w->choice.from - d->next;
	if ((__s32)missing > 0) {
		if ((__s32)(d->acked - w->choice.from) < 0)
			return 0;
		pass_hole(skb, w, flow, d, missing);
	} else if (!w->goes_on && (__s32)(d->acked - d->next) > 0) {
		count_drop(IOCX_CA_DROP_HOLE_FILLED);
	}
	if ((__s32)(d->acked - w->choice.to) < 0)
		w->choice.to = d->acked;
	return (__s32)(w->choice.to - d->next) > 0;
}

/* The receiver has bytes that were not stored: nobody will send them again. */
static __always_inline void catch_up(struct __sk_buff *skb, struct work *w, struct iocx_ca_flow *flow,
				     struct iocx_ca_direction *d)
{
	const __s32 missing = (__s32)(d->acked - d->next);

	if (!d->behind || d->window || (missing <= 0 && missing > -FAR_OFF))
		return;
	d->behind = 0;
	pass_hole(skb, w, flow, d, (__u32)missing);
}

/*
 * Sets up the next piece when packets did not come in order, and returns 1; 0: there is none. Stored bytes are read when
 * the receiver has acknowledged them: what it has refused, since it was out of its window, never counts. A hole is
 * skipped when the receiver has acknowledged the missing bytes, so that nobody sends them again.
 */
__attribute__((noinline)) int ca_next_piece(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);
	struct iocx_ca_page *window = 0;
	struct iocx_ca_direction *d;

	if (!flow)
		return 0;
	d = direction_of(flow, w->window.direction);
	if (w->waits && place_packet(skb, w, flow, d))
		return 1;
	if (d->window)
		window = get_page(d->window);
	if (!window)
		return 0;
	if (!choose_stored(skb, w, flow, d, window))
		return 0;
	set_up_page(w, flow, d, window);
	return 1;
}

/* Reads the piece that ca_next_piece() has set up. */
__attribute__((noinline)) int ca_read_piece(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);

	if (!flow)
		return 0;
	read_piece(skb, w, flow, direction_of(flow, w->window.direction));
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

/*
 * A FIN in its turn ends the circuit: all bytes of the direction have come. One that came ahead of missing bytes ends
 * nothing; user space finds that the socket is gone.
 */
static __always_inline void end_at_fin(struct iocx_ca_flow *flow, const struct iocx_ca_direction *d,
				       const struct segment *segment)
{
	if (d->next_known && (segment->flags & TCP_FIN) && segment->seq + segment->length == d->next)
		flow->ended = 1;
}

/*
 * After a silence, the client's next byte starts a message. What the server has not acknowledged would have been sent
 * again within that time, which ends the silence. Before its first segment a client is silent since its circuit is known.
 */
static __always_inline void heed_silence(const struct work *w, const struct iocx_ca_flow *flow,
					 struct iocx_ca_direction *d, int in_turn)
{
	const __u64 since_ns = d->heard_ns ? d->heard_ns : flow->since_ns;

	d->heard_ns = w->now;
	if (in_turn && w->now - since_ns >= SILENCE_NS)
		iocx_ca_regain_by_silence(&d->stream);
}

/* Reads a segment with data. */
static __always_inline void read_segment(struct __sk_buff *skb, struct work *w, struct iocx_ca_flow *flow,
					 struct iocx_ca_direction *d, const struct segment *segment)
{
	const __s32 ahead = (__s32)(segment->seq - d->next);

	w->waits = ahead > 0 || ahead <= -FAR_OFF || segment->length > LARGEST_PIECE;
	if (segment->direction == IOCX_CA_TO_SERVER)
		heed_silence(w, flow, d, ahead == 0);
	if (ahead <= 0 && ahead > -FAR_OFF && (__u32)-ahead >= segment->length)
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
		read_piece(skb, w, flow, d);
	}
	if (w->waits || d->window) {
		w->window.direction = segment->direction;
		ca_read_pieces(skb);
	}
}
