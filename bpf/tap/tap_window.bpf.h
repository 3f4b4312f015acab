/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The reassembly window of a direction (shared/ca_window.h): opens and closes it and stores bytes that came ahead
 * of missing ones. Part of tap/tap.bpf.c; the lock of the direction is held. It has global functions for the same
 * reason as ca_burst().
 */

static __always_inline struct iocx_ca_page *get_page(__u32 index_plus_1)
{
	const __u32 index = index_plus_1 - 1;

	return bpf_map_lookup_elem(&ca_pages, &index);
}

/* Takes a page for the circuit: its index plus 1; 0 when there is none. */
static __always_inline __u32 take_page(const struct iocx_ca_flow *flow)
{
	struct iocx_ca_page_owner *owner;
	__u32 index;

	if (!take_place(IOCX_CA_HELD_PAGES, flow->holder))
		return 0;
	owner = bpf_map_pop_elem(&ca_free_pages, &index) ? 0 : bpf_map_lookup_elem(&ca_page_owners, &index);
	if (!owner) {
		give_place(IOCX_CA_HELD_PAGES, flow->holder);
		return 0;
	}
	owner->holder = flow->holder;
	owner->circuit = flow->circuit;
	return index + 1;
}

static __always_inline void give_page(__u32 index_plus_1)
{
	const __u32 index = index_plus_1 - 1;
	struct iocx_ca_page_owner *owner = bpf_map_lookup_elem(&ca_page_owners, &index);

	if (!owner)
		return;
	give_place(IOCX_CA_HELD_PAGES, owner->holder);
	owner->circuit = 0;
	bpf_map_push_elem(&ca_free_pages, &index, 0);
}

/* From now on mere acknowledgements are looked at, too. */
static __always_inline void want_acks(struct iocx_ca_direction *d)
{
	if (d->wants_acks)
		return;
	d->wants_acks = 1;
	d->acked = d->next;
	__sync_fetch_and_add(&windows, 1);
}

/* Unless the direction waits for something. */
static __always_inline void leave_acks(struct iocx_ca_direction *d)
{
	if (!d->wants_acks || d->window || d->behind)
		return;
	d->wants_acks = 0;
	__sync_fetch_and_add(&windows, -1);
}

/* The window of the direction, opened when there is none yet; null when there is no room. */
static __always_inline struct iocx_ca_page *open_window(const struct iocx_ca_flow *flow, struct iocx_ca_direction *d,
							__u32 seq)
{
	struct iocx_ca_page *window;
	__u64 place = iocx_ca_place(seq);
	__u32 first;

	if (d->window)
		return get_page(d->window);
	first = take_page(flow);
	if (!first)
		return 0;
	window = get_page(first);
	if (!window)
		return 0;
	__builtin_memset(window->extents, 0, sizeof window->extents);
	for (__u32 i = 0; i < IOCX_CA_WINDOW_PAGES; i++) {
		IOCX_CA_OPAQUE(i);
		window->pages[i] = 0;
	}
	IOCX_CA_MASK(place, IOCX_CA_WINDOW_PAGES - 1);
	window->pages[place] = first;
	d->window = first;
	want_acks(d);
	return window;
}

/* Frees the window of the direction with all bytes in it. */
__attribute__((noinline)) int ca_close_window(struct __sk_buff *skb, __u32 direction)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);
	struct iocx_ca_page *window;
	struct iocx_ca_direction *d;

	if (!flow)
		return 0;
	d = direction_of(flow, direction);
	window = get_page(d->window);
	if (!window)
		return 0;
	for (__u32 i = 0; i < IOCX_CA_WINDOW_PAGES; i++) {
		__u32 page;

		IOCX_CA_OPAQUE(i);
		page = window->pages[i];
		if (page && page != d->window)
			give_page(page);
	}
	give_page(d->window); /* last: it holds the list of the others */
	d->window = 0;
	return 0;
}

/* Copies bytes of the current page into the parser's window, as many as it may need. */
__attribute__((noinline)) int ca_load_page(struct __sk_buff *skb, __u32 lead_, __u32 from)
{
	struct work *w = get_work();
	const struct iocx_ca_page *page;
	__u64 lead = lead_, at;

	asm volatile("" : : "r"(skb));
	if (!w)
		return -1;
	page = get_page(w->page);
	if (!page)
		return -1;
	at = w->data_at + from;
	IOCX_CA_MASK(at, IOCX_CA_PAGE - 1);
	IOCX_CA_MASK(lead, IOCX_CA_CARRY - 1);
	iocx_ca_copy(w->window.bytes + lead, page->bytes + at, IOCX_CA_FILL);
	return 0;
}

/*
 * Copies data of the packet, from w->stored on, into one page, as much as goes in one copy. Returns how much; 0 when
 * there is no room.
 */
__attribute__((noinline)) int ca_store_chunk(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);
	struct iocx_ca_page *window, *page;
	const struct segment *segment;
	__u64 at, place, wanted;
	__u32 seq, size;

	if (!flow)
		return 0;
	window = get_page(direction_of(flow, w->window.direction)->window);
	if (!window)
		return 0;
	segment = &w->segment;
	seq = segment->seq + w->stored;
	at = seq;
	place = iocx_ca_place(seq);
	size = segment->length - w->stored;
	IOCX_CA_MASK(at, IOCX_CA_PAGE - 1);
	IOCX_CA_MASK(place, IOCX_CA_WINDOW_PAGES - 1);
	if (size > IOCX_CA_PAGE_CHUNK)
		size = IOCX_CA_PAGE_CHUNK;
	if (size > IOCX_CA_PAGE - at)
		size = IOCX_CA_PAGE - at;
	if (!window->pages[place])
		window->pages[place] = take_page(flow);
	if (!window->pages[place])
		return 0;
	page = get_page(window->pages[place]);
	if (!page)
		return 0;
	/* As in fill(): the verifier of 5.10 must see that 1 <= wanted. */
	wanted = size - 1;
	IOCX_CA_MASK(wanted, IOCX_CA_PAGE_CHUNK - 1);
	asm volatile("%0 += 1" : "+r"(wanted));
	if (bpf_skb_load_bytes(skb, segment->data_at + w->stored, page->bytes + at, wanted))
		return 0;
	return size;
}

/* Stores the data of the packet in the window. Returns 0 when there is no room. */
__attribute__((noinline)) int ca_store(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);
	struct iocx_ca_page *window;
	struct iocx_ca_direction *d;

	if (!flow)
		return 0;
	d = direction_of(flow, w->window.direction);
	w->choice.from = w->segment.seq;
	w->choice.to = w->segment.seq + w->segment.length;
	if (!iocx_ca_reaches(d->next, w->choice.to))
		return 0;
	window = open_window(flow, d, w->segment.seq);
	if (!window)
		return 0;
	w->stored = iocx_ca_stored(window, &w->choice);
	for (int i = 0; i < STORE_STEPS; i++) {
		__u32 size;

		IOCX_CA_FORGET();
		if (w->stored >= w->segment.length)
			return iocx_ca_add_extent(window, &w->choice);
		size = ca_store_chunk(skb);
		if (!size)
			return 0;
		w->stored += size;
	}
	return 0;
}
