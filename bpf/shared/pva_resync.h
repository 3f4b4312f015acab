/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Finds message boundaries of PV Access again where they were lost: after bytes that were not seen, or on a circuit that
 * was open before. Pure C without I/O that clang -target bpf and g++ both compile.
 *
 * Messages start at any byte. A candidate is accepted when it and the messages behind it are IOCX_CA_CHAIN plausible
 * headers in a row, or end where the TCP segment ends; one message alone does so only where the segment starts with it. A
 * message that starts a segment and ends in a later one is accepted when another one follows it.
 *
 * It is called as shared/ca_resync.h, of which it takes the state. Each segment is searched by itself.
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
	seek->messages = s->stream.sync == IOCX_CA_TENTATIVE;
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
IOCX_CA_INLINE int iocx_pva_seek_next(struct iocx_pva_stream *s, struct iocx_ca_window *w, __u32 hop)
{
	struct iocx_ca_resync *seek = &w->seek;

	s->stream.sync = IOCX_CA_LOST;
	s->stream.unfinished = 0;
	s->segmented = 0;
	w->pos += hop;
	seek->at = w->pos;
	seek->messages = 0;
	if (iocx_pva_seek_wants(w))
		return IOCX_CA_SEEK_ON;
	w->pos = w->end;
	seek->active = 0;
	return IOCX_CA_SEEK_END;
}

/* Accepts for now a message that starts the segment and ends in a later one. `size`: bytes of it in seek.bytes. */
IOCX_CA_INLINE int iocx_pva_seek_tentative(struct iocx_pva_stream *s, struct iocx_ca_window *w, __u32 size)
{
	struct iocx_ca_resync *seek = &w->seek;
	const __u8 *p = seek->bytes;
	const __u32 big = p[2] & IOCX_PVA_BIG_ENDIAN;

	s->stream.sync = IOCX_CA_TENTATIVE;
	s->stream.skip = seek->at - w->end;
	s->big = (__u8)big;
	s->segmented = (p[2] & IOCX_PVA_FIRST) != 0;
	if (w->direction == IOCX_CA_TO_SERVER && size == IOCX_PVA_PUT_HEAD &&
	    !(p[2] & (IOCX_PVA_CONTINUED | IOCX_PVA_CONTROL)) && iocx_pva_is_put(p[3], p[16])) {
		s->stream.unfinished = p[3];
		s->stream.unfinished_sid = iocx_pva_u32(p + 8, big);
		s->stream.unfinished_ioid = iocx_pva_u32(p + 12, big);
		s->sub = p[16];
	}
	w->pos = w->end;
	seek->active = 0;
	return IOCX_CA_SEEK_END;
}

/* One step: `size` bytes, as wanted, are in seek.bytes. FOUND: an unfinished put, if there is one, is complete. */
IOCX_CA_INLINE int iocx_pva_seek(struct iocx_pva_stream *s, struct iocx_ca_window *w, __u32 size)
{
	struct iocx_ca_resync *seek = &w->seek;
	const int tentative = s->stream.sync == IOCX_CA_TENTATIVE;
	const int starts = w->pos == w->carried; /* the candidate stands where the segment starts */
	struct iocx_pva_header h;

	if (!size || !iocx_pva_plausible(seek->bytes, w->direction))
		return iocx_pva_seek_next(s, w, iocx_pva_seek_hop(seek, size));
	iocx_pva_read_header(seek->bytes, &h);
	seek->messages++;
	seek->at += IOCX_PVA_HEADER + (h.flags & IOCX_PVA_CONTROL ? 0 : h.size);
	IOCX_CA_FORGET();
	if (seek->messages >= IOCX_CA_CHAIN)
		return iocx_ca_seek_found(&s->stream, w, 0);
	if (iocx_pva_seek_wants(w))
		return IOCX_CA_SEEK_ON;
	if (tentative || seek->messages > 1 || (starts && seek->at == w->end))
		return iocx_ca_seek_found(&s->stream, w, 0);
	if (starts && seek->at > w->end)
		return iocx_pva_seek_tentative(s, w, size);
	return iocx_pva_seek_next(s, w, 1);
}

#endif
