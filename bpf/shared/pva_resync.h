/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Finds message boundaries of PV Access again where they were lost: after bytes that were not seen, or on a circuit that
 * was open before. Pure C without I/O that clang -target bpf and g++ both compile.
 *
 * Messages start at any byte. A candidate is tried when it and the messages behind it are IOCX_CA_CHAIN plausible
 * headers in a row, or end where the TCP segment ends; one message alone only where the segment starts with it.
 *
 * It is called as shared/ca_resync.h, of which it takes the state and the proofs. Each segment is searched by itself.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_PVA_RESYNC_H
#define IOC_EXPORTER_BPF_SHARED_PVA_RESYNC_H

#include "shared/ca_resync.h"
#include "shared/pva_parser.h"

#define IOCX_PVA_PUT_HEAD (IOCX_PVA_HEADER + 9u) /* a header, SID, IOID, subcommand */

IOCX_CA_INLINE void iocx_pva_seek_begin(struct iocx_pva_stream *s, struct iocx_ca_window *w)
{
	struct iocx_ca_resync *seek = &w->seek;

	s->names = 0;
	s->segmented = 0;
	if (w->pos < w->carried) /* of a message that was being read */
		w->pos = w->carried;
	seek->at = w->pos;
	seek->messages = 0;
	seek->active = 1;
}

/* How many bytes the next call needs in seek.bytes; may be 0. */
IOCX_CA_INLINE __u32 iocx_pva_seek_wants(const struct iocx_ca_window *w)
{
	const __u32 at = w->seek.at;

	if (at >= w->end || w->end - at < IOCX_PVA_HEADER)
		return 0;
	return w->end - at < IOCX_PVA_PUT_HEAD ? IOCX_PVA_HEADER : IOCX_PVA_PUT_HEAD;
}

/* How far behind the candidate the next one is, or may be: of the candidate, `size` bytes are in seek.bytes. */
IOCX_CA_INLINE __u32 iocx_pva_seek_hop(const struct iocx_ca_resync *seek, __u32 size)
{
	if (size != IOCX_PVA_PUT_HEAD || seek->messages) /* they are of a message behind the candidate */
		return 1;
#pragma GCC unroll 17
	for (__u32 i = 1; i < IOCX_PVA_PUT_HEAD; i++)
		if (seek->bytes[i] == IOCX_PVA_MAGIC)
			return i;
	return IOCX_PVA_PUT_HEAD;
}

/* The candidate is refused: goes on to the next one. */
IOCX_CA_INLINE int iocx_pva_seek_next(struct iocx_ca_window *w, __u32 hop)
{
	struct iocx_ca_resync *seek = &w->seek;

	w->pos += hop;
	seek->at = w->pos;
	seek->messages = 0;
	if (iocx_pva_seek_wants(w))
		return IOCX_CA_SEEK_ON;
	w->pos = w->end;
	seek->active = 0;
	return IOCX_CA_SEEK_END;
}

/* One step: `size` bytes, as wanted, are in seek.bytes. */
IOCX_CA_INLINE int iocx_pva_seek(struct iocx_pva_stream *s, struct iocx_ca_window *w, __u32 size)
{
	struct iocx_ca_resync *seek = &w->seek;
	const __u32 to_prove = iocx_ca_to_prove(w);
	const int starts = w->pos == w->carried; /* the candidate stands where the segment starts */
	struct iocx_pva_header h;

	if (!size || !iocx_pva_plausible(seek->bytes, w->direction))
		return iocx_pva_seek_next(w, iocx_pva_seek_hop(seek, size));
	iocx_pva_read_header(seek->bytes, &h);
	seek->messages++;
	seek->at += IOCX_PVA_HEADER + (h.flags & IOCX_PVA_CONTROL ? 0 : h.size);
	IOCX_CA_FORGET();
	if (seek->messages >= IOCX_CA_CHAIN)
		return iocx_ca_seek_found(&s->stream, w, to_prove);
	if (iocx_pva_seek_wants(w))
		return IOCX_CA_SEEK_ON;
	if (seek->messages > 1 || (starts && seek->at == w->end))
		return iocx_ca_seek_found(&s->stream, w, to_prove);
	/* Its end is in a later segment: at least the message behind it will decide. */
	if (starts && seek->at > w->end)
		return iocx_ca_seek_found(&s->stream, w, to_prove ? to_prove : 2);
	return iocx_pva_seek_next(w, 1);
}

/* Which id a message with this header starts with. */
IOCX_CA_INLINE __u32 iocx_pva_names(__u32 direction, const struct iocx_pva_header *h)
{
	if ((h->flags & (IOCX_PVA_CONTROL | IOCX_PVA_CONTINUED)) || h->command == IOCX_PVA_CMD_ECHO)
		return IOCX_CA_NAMES_NONE;
	if (direction == IOCX_CA_TO_SERVER &&
	    (iocx_pva_is_request(h->command) || h->command == IOCX_PVA_CMD_DESTROY_CHANNEL ||
	     h->command == IOCX_PVA_CMD_DESTROY_REQUEST))
		return IOCX_CA_NAMES_SID;
	return IOCX_CA_NAMES_NEW;
}

/* Reads the header of one message that is not believed yet, as iocx_ca_doubt(). All requests but MONITOR are answered. */
IOCX_CA_INLINE int iocx_pva_doubt(struct iocx_pva_stream *s, struct iocx_ca_window *w, struct iocx_ca_event *e)
{
	const __u8 *p = w->bytes + iocx_ca_at(w, w->pos);
	const int next = iocx_ca_next_message(&s->stream, w, e);
	struct iocx_pva_header h;
	__u32 names, big;

	if (next != IOCX_CA_HAS_BYTES)
		return next;
	if (w->left < IOCX_PVA_HEADER)
		return iocx_ca_keep(&s->stream, w, e->at);
	if (!iocx_pva_plausible(p, w->direction))
		return iocx_pva_distrust(s, w);
	iocx_pva_read_header(p, &h);
	names = iocx_pva_names(w->direction, &h);
	if (names == IOCX_CA_NAMES_SID && w->left < IOCX_PVA_HEADER + iocx_pva_shortest(w->direction, h.command))
		return iocx_ca_keep(&s->stream, w, e->at);
	IOCX_CA_FORGET();
	big = h.flags & IOCX_PVA_BIG_ENDIAN;
	e->size = names;
	e->id = iocx_pva_u32(p + IOCX_PVA_HEADER, big);
	e->other = iocx_pva_u32(p + IOCX_PVA_HEADER + 4, big);
	e->notify = names == IOCX_CA_NAMES_SID && iocx_pva_is_request(h.command) && h.command != IOCX_PVA_CMD_MONITOR;
	iocx_ca_pass(&s->stream, w, (__u64)IOCX_PVA_HEADER + (h.flags & IOCX_PVA_CONTROL ? 0 : h.size));
	e->kind = IOCX_CA_DOUBTED;
	return IOCX_CA_MORE;
}

#endif
