/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * One direction of a PV Access circuit: the state that is kept between two TCP segments, beside that of every stream
 * (shared/ca_stream.h). Pure C without I/O that clang -target bpf and g++ both compile.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_PVA_STREAM_H
#define IOC_EXPORTER_BPF_SHARED_PVA_STREAM_H

#include "shared/pva_events.h"

/*
 * One direction of a circuit between two segments. All zero: the circuit was open before. `stream.unfinished` is the
 * command of the put whose last byte has not arrived.
 */
struct iocx_pva_stream {
	struct iocx_ca_stream stream;
	__u32 payload;  /* in a CREATE_CHANNEL: bytes of its segment that were not read */
	__u16 names;    /* entries of it that were not read */
	__u8 segmented; /* another segment of the message follows */
	__u8 big;       /* its byte order; to the client, before the first one, that of the server */
	__u8 sub;       /* of the unfinished put */
	__u8 pad[7];
};

IOCX_CA_INLINE void iocx_pva_start(struct iocx_pva_stream *s)
{
	iocx_ca_start(&s->stream);
	s->names = 0;
	s->segmented = 0;
}

IOCX_CA_INLINE void iocx_pva_lose_place(struct iocx_pva_stream *s)
{
	iocx_ca_lose_place(&s->stream);
	s->names = 0;
	s->segmented = 0;
}

/*
 * The receiver reads nothing more of the direction. No server sends such a message: to the client the boundaries were
 * wrong ones, which another client's data may have feigned.
 */
IOCX_CA_INLINE int iocx_pva_refuse(struct iocx_pva_stream *s, struct iocx_ca_window *w, struct iocx_pva_event *e,
				   __u32 kind)
{
	iocx_pva_lose_place(s);
	if (w->direction == IOCX_CA_TO_SERVER || kind == IOCX_PVA_NOT_PVA) {
		s->stream.sync = IOCX_CA_FOLLOWED;
		s->stream.skip = IOCX_CA_ALL;
	}
	w->pos = w->end;
	e->kind = kind;
	return IOCX_CA_MORE;
}

IOCX_CA_INLINE void iocx_pva_finish_put(struct iocx_pva_stream *s, struct iocx_pva_event *e)
{
	e->kind = IOCX_PVA_PUT;
	e->id = s->stream.unfinished_sid;
	e->other = s->stream.unfinished_ioid;
	e->command = s->stream.unfinished;
	e->sub = s->sub;
	s->stream.unfinished = 0;
}

/* When all of the message at hand has arrived, reports its put. */
IOCX_CA_INLINE void iocx_pva_end_message(struct iocx_pva_stream *s, struct iocx_pva_event *e)
{
	if (!s->stream.skip && !s->segmented && s->stream.unfinished)
		iocx_pva_finish_put(s, e);
}

/*
 * `missing` bytes were not seen. Returns 0 when all of them belong to the payload of one message, so that nothing is
 * lost; 1 when the boundaries are lost. A put that ends among them counts: the sender has sent it and gone on.
 */
IOCX_CA_INLINE int iocx_pva_gap(struct iocx_pva_stream *s, struct iocx_pva_event *e, __u32 missing)
{
	e->kind = IOCX_PVA_NOTHING;
	if (s->stream.skip > missing) {
		s->stream.skip -= missing;
		return 0;
	}
	if (s->stream.skip == missing && s->stream.sync >= IOCX_CA_REGAINED) {
		s->stream.skip = 0;
		iocx_pva_end_message(s, e);
		return 0;
	}
	if (s->stream.skip && s->stream.sync >= IOCX_CA_REGAINED && !s->segmented && s->stream.unfinished)
		iocx_pva_finish_put(s, e);
	iocx_pva_lose_place(s);
	return 1;
}

/* Skips the remainder of a message that came in part. */
IOCX_CA_INLINE int iocx_pva_finish(struct iocx_pva_stream *s, struct iocx_ca_window *w, struct iocx_pva_event *e)
{
	const __u32 left = w->end - w->pos;

	if (s->stream.skip > left) {
		s->stream.skip -= left;
		w->pos = w->end;
		return IOCX_CA_MORE;
	}
	w->pos += (__u32)s->stream.skip;
	s->stream.skip = 0;
	iocx_pva_end_message(s, e);
	return IOCX_CA_MORE;
}

#endif
