/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The reassembly window of a direction of a circuit: pages that hold bytes which arrived ahead of missing ones, and
 * the list of what they hold. Pure C without I/O that clang -target bpf and g++ both compile.
 *
 * The place of a byte follows from its TCP sequence number alone: page (number / PAGE) % WINDOW_PAGES of the window,
 * offset number % PAGE. So nothing moves while the stream goes on. Sequence numbers are compared by their
 * difference, since they start over at 2^32 (RFC 9293, 3.4).
 */
#ifndef IOC_EXPORTER_BPF_SHARED_CA_WINDOW_H
#define IOC_EXPORTER_BPF_SHARED_CA_WINDOW_H

#include "shared/ca_header.h"

#define IOCX_CA_PAGE 16384u
/*
 * A window reaches over 4,080 KiB at least. The receive buffer bounds what is in flight: 6 MiB by default (tcp_rmem),
 * of which Linux offers the sender about half; hundreds of KiB are usual.
 */
#define IOCX_CA_WINDOW_PAGES 256u
#define IOCX_CA_EXTENTS 32u /* separate ranges of bytes that a window can hold */
/* The most that is copied at once. Pages are longer by as much, so that no copy ends outside one. */
#define IOCX_CA_PAGE_CHUNK 2048u

/* Bytes that have arrived: from `from` up to, not including, `to`. Equal: not used. */
struct iocx_ca_extent {
	__u32 from;
	__u32 to;
};

/* Element of ca_pages. The first page of a window describes it; other pages only use `bytes`. */
struct iocx_ca_page {
	struct iocx_ca_extent extents[IOCX_CA_EXTENTS]; /* none overlaps or touches another; in no order */
	__u32 pages[IOCX_CA_WINDOW_PAGES];              /* by place: index of the page plus 1; 0: none */
	__u8 bytes[IOCX_CA_PAGE + IOCX_CA_PAGE_CHUNK];
};

/*
 * Element of ca_page_owners: which circuit uses the page of the same index. Mapped into user space, which frees the
 * pages of connections that are gone.
 */
struct iocx_ca_page_owner {
	__u64 circuit; /* 0: the page is in ca_free_pages, or is being taken from or given back to it */
	__u32 holder;  /* the client: index into ca_held */
	__u32 pad;
};

/* An extent to add, or the next one to read: in memory, where the verifier forgets its values. */
struct iocx_ca_choice {
	__u32 from;
	__u32 to;
	__u32 at;   /* its place in `extents`; EXTENTS: none */
	__u32 free; /* a place that is not used; EXTENTS: none */
};

IOCX_CA_INLINE __u32 iocx_ca_place(__u32 seq)
{
	return (seq / IOCX_CA_PAGE) % IOCX_CA_WINDOW_PAGES;
}

/* Whether a window that starts at `next` has room for all bytes before `to`. */
IOCX_CA_INLINE int iocx_ca_reaches(__u32 next, __u32 to)
{
	return to - next / IOCX_CA_PAGE * IOCX_CA_PAGE <= IOCX_CA_PAGE * IOCX_CA_WINDOW_PAGES;
}

/*
 * Adds choice->from to choice->to, merged with what it overlaps or touches. Returns 0 when there is no room.
 */
IOCX_CA_INLINE int iocx_ca_add_extent(struct iocx_ca_page *window, struct iocx_ca_choice *choice)
{
	__u32 at;

	choice->free = IOCX_CA_EXTENTS;
	for (__u32 i = 0; i < IOCX_CA_EXTENTS; i++) {
		struct iocx_ca_extent *extent;

		IOCX_CA_OPAQUE(i);
		extent = &window->extents[i];
		IOCX_CA_FORGET();
		if (extent->from != extent->to) {
			if ((__s32)(extent->to - choice->from) < 0 || (__s32)(choice->to - extent->from) < 0)
				continue;
			/* One pass is enough: what touches neither of two extents does not touch the merged one. */
			if ((__s32)(extent->from - choice->from) < 0)
				choice->from = extent->from;
			if ((__s32)(extent->to - choice->to) > 0)
				choice->to = extent->to;
			extent->from = extent->to;
		}
		if (extent->from == extent->to)
			choice->free = i;
	}
	IOCX_CA_FORGET();
	at = choice->free;
	if (at >= IOCX_CA_EXTENTS)
		return 0;
	IOCX_CA_MASK(at, IOCX_CA_EXTENTS - 1);
	window->extents[at].from = choice->from;
	window->extents[at].to = choice->to;
	return 1;
}

/*
 * How many bytes from choice->from on need not be stored, since a segment that started earlier, or with the same byte,
 * has brought them. Linux does the same (tcp_data_queue_ofo()): of bytes that came twice and differ, those of the
 * segment that starts first are delivered.
 */
IOCX_CA_INLINE __u32 iocx_ca_stored(const struct iocx_ca_page *window, const struct iocx_ca_choice *choice)
{
	const __u32 from = choice->from;
	__u32 stored = 0;

	for (__u32 i = 0; i < IOCX_CA_EXTENTS; i++) {
		const struct iocx_ca_extent *extent;

		IOCX_CA_OPAQUE(i);
		extent = &window->extents[i];
		IOCX_CA_FORGET();
		if (extent->from != extent->to && (__s32)(from - extent->from) >= 0 && (__s32)(extent->to - from) > 0)
			stored = extent->to - from;
	}
	return stored;
}

/* Finds the first extent that ends behind `next`; frees those that end before it. */
IOCX_CA_INLINE void iocx_ca_next_extent(struct iocx_ca_page *window, struct iocx_ca_choice *choice, __u32 next)
{
	choice->at = IOCX_CA_EXTENTS;
	for (__u32 i = 0; i < IOCX_CA_EXTENTS; i++) {
		struct iocx_ca_extent *extent;

		IOCX_CA_OPAQUE(i);
		extent = &window->extents[i];
		IOCX_CA_FORGET();
		if (extent->from == extent->to)
			continue;
		if ((__s32)(extent->to - next) <= 0) {
			extent->from = extent->to;
			continue;
		}
		if (choice->at != IOCX_CA_EXTENTS && (__s32)(extent->from - choice->from) >= 0)
			continue;
		choice->from = extent->from;
		choice->to = extent->to;
		choice->at = i;
	}
	IOCX_CA_FORGET();
}

#endif
