/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * What of a direction of a circuit arrived before its turn: pages of bytes, and which bytes there are.
 * Pure C without I/O that clang -target bpf and g++ both compile.
 *
 * A byte's place follows from its TCP sequence number alone: page (number / PAGE) % WINDOW_PAGES of the
 * window, offset number % PAGE. So nothing moves while the stream goes on. Sequence numbers are compared
 * by their difference, since they start over at 2^32 (RFC 9293, 3.4).
 */
#ifndef IOC_EXPORTER_BPF_SHARED_CA_WINDOW_H
#define IOC_EXPORTER_BPF_SHARED_CA_WINDOW_H

#include "shared/ca_header.h"

#define IOCX_CA_PAGE 16384u
/*
 * A window reaches over 4,080 KiB at least: what is in flight is bounded by the receive buffer, 6 MiB by
 * default (tcp_rmem), of which Linux offers the sender a half or so; hundreds of KiB are usual.
 */
#define IOCX_CA_WINDOW_PAGES 256u
#define IOCX_CA_EXTENTS 32u /* holes that a window knows of */
/* Copied at once into or out of a page, which is as much longer: no copy ends outside it. */
#define IOCX_CA_PAGE_CHUNK 2048u

/* Bytes that are there: from `from` up to, not including, `to`. Equal: none. */
struct iocx_ca_extent {
	__u32 from;
	__u32 to;
};

/* Element of ca_pages. A window is known by its first page: the others' `extents` and `pages` mean nothing. */
struct iocx_ca_page {
	struct iocx_ca_extent extents[IOCX_CA_EXTENTS]; /* none overlaps or touches another; in no order */
	__u32 pages[IOCX_CA_WINDOW_PAGES];              /* by place: index of the page, plus 1; 0: none */
	__u8 bytes[IOCX_CA_PAGE + IOCX_CA_PAGE_CHUNK];
};

/*
 * Element of ca_page_owners: whose the page of the same index is. Mapped into user space, which frees the
 * pages of connections that are gone.
 */
struct iocx_ca_page_owner {
	__u64 circuit; /* 0: the page is in ca_free_pages, or on the way there or from there */
	__u32 first;   /* 1: the first page of a window */
	__u32 pad;
};

/* The extent that is to be added, or that comes next, in memory where the verifier forgets it. */
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

/* Whether a window has a place for all bytes before `to` while those from `next` on are to come. */
IOCX_CA_INLINE int iocx_ca_reaches(__u32 next, __u32 to)
{
	return to - next / IOCX_CA_PAGE * IOCX_CA_PAGE <= IOCX_CA_PAGE * IOCX_CA_WINDOW_PAGES;
}

/* Adds choice->from .. to, joined with what it overlaps or touches. Returns 0 when there is no place. */
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
			/* One pass does: what touches neither of two does not touch them joined. */
			if ((__s32)(extent->from - choice->from) < 0)
				choice->from = extent->from;
			if ((__s32)(extent->to - choice->to) > 0)
				choice->to = extent->to;
			extent->from = extent->to;
		}
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

/* Finds the extent that begins first from `next` on, or holds it; frees those that end before it. */
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
