/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * One direction of a circuit: the state that is kept between two segments, and the window of bytes that the parser
 * reads. Pure C without I/O that clang -target bpf and g++ both compile.
 *
 * A position counts from the first carried byte: carried bytes of earlier segments come first, then the bytes of
 * the segment.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_CA_STREAM_H
#define IOC_EXPORTER_BPF_SHARED_CA_STREAM_H

#include "shared/ca_events.h"

/* A message may start in the first REACH bytes of the window; CARRY more bytes follow for its header and name. */
#define IOCX_CA_REACH 1024u
#define IOCX_CA_FILL (IOCX_CA_REACH + IOCX_CA_CARRY)
/* The carried bytes, and FILL rounded up to a power of two: the verifier knows a size by its mask only. */
#define IOCX_CA_ROOM (2048u + IOCX_CA_CARRY)

/* So many headers in a row prove the boundaries of a direction to the server. */
#define IOCX_CA_PROOF 16u
/* After boundaries were proved, the headers of so many messages are checked for plausibility. */
#define IOCX_CA_CHECKED_MESSAGES 64u
#define IOCX_CA_FAR (64u << 20) /* a message that is longer, or ends further off, is not believed then */

/* How well the direction's message boundaries are known. */
enum iocx_ca_sync {
	IOCX_CA_LOST,     /* not known: the tap came late, or bytes are missing */
	IOCX_CA_UNPROVED, /* headers fit so far; nothing is read but headers */
	IOCX_CA_REGAINED, /* known again; the next headers are still checked for plausibility */
	IOCX_CA_FOLLOWED, /* from the circuit's first byte, or for IOCX_CA_CHECKED_MESSAGES messages */
};

/* Result of a step of the parser. */
enum iocx_ca_step {
	IOCX_CA_MORE,        /* go on; the event's kind may be IOCX_CA_NOTHING */
	IOCX_CA_DONE,        /* the whole segment was read; no event */
	IOCX_CA_OUT_OF_SYNC, /* boundaries were lost at `pos`; no event */
	IOCX_CA_HAS_BYTES,   /* within a step: the next message begins at `pos` */
	IOCX_CA_HAS_HEADER,  /* within a step: the window has its header */
};

/* One direction of a circuit between two segments. All zero: the circuit was open before the tap saw it. */
struct iocx_ca_stream {
	__u64 skip;           /* bytes of the current message that have not arrived */
	__u32 have;           /* bytes in `carry`, less than IOCX_CA_CARRY */
	__u32 unfinished_sid; /* of the put whose last byte has not arrived */
	__u32 unfinished_ioid;
	__u8 sync;                 /* enum iocx_ca_sync */
	__u8 unfinished;           /* 0: no such put; 1: a WRITE; 2: a WRITE_NOTIFY; 3: a WRITE that acknowledges */
	__u8 first;                /* the next message is the circuit's first */
	__u8 to_check;             /* UNPROVED, REGAINED: messages whose headers are still to be checked */
	__u8 carry[IOCX_CA_CARRY]; /* copied in words */
};

/* The search for boundaries in the segment at hand; see ca_resync.h. */
struct iocx_ca_resync {
	__u32 active;
	__u32 at;       /* position of the header in `bytes`: the candidate's, or of a message behind it */
	__u32 messages; /* plausible messages in a row, from the candidate on */
	__u32 trusted;  /* those of them that name a known channel */
	__u32 stride;   /* from one candidate to the next */
	__u8 bytes[IOCX_CA_LONG_HEADER];
};

/* The segment that is parsed, and the bytes of it that were copied in. */
struct iocx_ca_window {
	__u32 direction;
	__u32 carried; /* bytes of earlier segments */
	__u32 end;     /* carried + the segment's length */
	__u32 base;    /* position of bytes[0] */
	__u32 pos;     /* position of the next message */
	__u32 left;    /* bytes from there to the end */
	struct iocx_ca_resync seek;
	struct iocx_ca_header header; /* of the current message: in memory, where the verifier forgets its value */
	__u8 bytes[IOCX_CA_ROOM];
};

/* The circuit's first byte comes next. */
IOCX_CA_INLINE void iocx_ca_start(struct iocx_ca_stream *s)
{
	s->skip = 0;
	s->have = 0;
	s->unfinished = 0;
	s->sync = IOCX_CA_FOLLOWED;
	s->first = 1;
}

/* In `skip`: all that follows, since the server reads no more. */
#define IOCX_CA_ALL (1ULL << 48)

/* Whether the server has refused to read on. */
IOCX_CA_INLINE int iocx_ca_is_refused(const struct iocx_ca_stream *s)
{
	return s->skip >= IOCX_CA_ALL >> 1;
}

/* The server goes on reading after all: message boundaries are to be searched for. */
IOCX_CA_INLINE void iocx_ca_read_on(struct iocx_ca_stream *s)
{
	s->skip = 0;
	s->have = 0;
	s->sync = IOCX_CA_LOST;
}

/* The put whose last byte was missing has been sent completely. */
IOCX_CA_INLINE int iocx_ca_finish_put(struct iocx_ca_stream *s, struct iocx_ca_event *e)
{
	e->kind = IOCX_CA_PUT;
	e->at = IOCX_CA_FINISHED;
	e->id = s->unfinished_sid;
	e->other = s->unfinished_ioid;
	e->notify = (s->unfinished - 1u) & 1;
	e->acknowledges = s->unfinished > 2;
	s->unfinished = 0;
	return IOCX_CA_MORE;
}

/* It is not known any more which byte of a message comes next. */
IOCX_CA_INLINE void iocx_ca_lose_place(struct iocx_ca_stream *s)
{
	s->skip = 0;
	s->have = 0;
	s->first = 0;
	s->unfinished = 0;
	s->sync = IOCX_CA_LOST;
}

/*
 * `missing` bytes were not seen. Returns 0 when all of them belong to the payload of one message, so that nothing
 * is lost; 1 when the boundaries are lost. A put that ends among them counts: the sender has sent it and gone on.
 */
IOCX_CA_INLINE int iocx_ca_gap(struct iocx_ca_stream *s, struct iocx_ca_event *e, __u32 missing)
{
	e->kind = IOCX_CA_NOTHING;
	if (s->skip > missing) {
		s->skip -= missing;
		return 0;
	}
	if (s->unfinished && s->sync >= IOCX_CA_REGAINED)
		iocx_ca_finish_put(s, e);
	s->unfinished = 0;
	if (s->skip == missing && s->sync >= IOCX_CA_REGAINED) {
		s->skip = 0;
		return 0;
	}
	iocx_ca_lose_place(s);
	return 1;
}

/* Starts a segment of `length` bytes. */
IOCX_CA_INLINE void iocx_ca_begin(struct iocx_ca_stream *s, struct iocx_ca_window *w, __u32 direction, __u32 length)
{
	w->direction = direction;
	w->carried = s->have;
	w->end = s->have + length;
	w->pos = 0;
	w->seek.active = 0;
	w->base = 0u - IOCX_CA_REACH; /* out of reach, so that bytes are wanted */
}

/* Whether the window must be filled from `pos` on before the next step. */
IOCX_CA_INLINE int iocx_ca_wants_bytes(const struct iocx_ca_stream *s, const struct iocx_ca_window *w)
{
	return s->skip == 0 && w->pos - w->base >= IOCX_CA_REACH && w->pos < w->end;
}

/*
 * Offset of position `pos` in the window. Only while the window reaches it: then the mask changes nothing, but
 * gives the verifier its bound.
 */
IOCX_CA_INLINE __u32 iocx_ca_at(const struct iocx_ca_window *w, __u32 pos)
{
	__u32 at = pos - w->base;

	IOCX_CA_MASK(at, IOCX_CA_REACH - 1);
	return at;
}

/* Gives up the remainder of the segment. */
IOCX_CA_INLINE int iocx_ca_lose(struct iocx_ca_stream *s, struct iocx_ca_window *w)
{
	s->sync = IOCX_CA_LOST;
	s->have = 0;
	s->unfinished = 0;
	w->pos = w->end;
	return IOCX_CA_DONE;
}

/* Carries the bytes from offset `at` on over to the next segment: they are too short for a message. */
IOCX_CA_INLINE int iocx_ca_keep(struct iocx_ca_stream *s, struct iocx_ca_window *w, __u32 at)
{
	IOCX_CA_MASK(at, IOCX_CA_REACH - 1);
	iocx_ca_copy(s->carry, w->bytes + at, IOCX_CA_CARRY);
	s->have = w->left;
	w->pos = w->end;
	return IOCX_CA_DONE;
}

/* Skips a message of `total` bytes, as far as the segment has it. */
IOCX_CA_INLINE void iocx_ca_pass(struct iocx_ca_stream *s, struct iocx_ca_window *w, __u64 total)
{
	if (total > w->left) {
		s->skip = total - w->left;
		w->pos = w->end;
	} else {
		w->pos += (__u32)total;
	}
}

/* The server closes the circuit at the message at `pos`. */
IOCX_CA_INLINE int iocx_ca_refuse(struct iocx_ca_stream *s, struct iocx_ca_window *w, struct iocx_ca_event *e)
{
	e->kind = IOCX_CA_REFUSED_ALL;
	s->skip = IOCX_CA_ALL;
	s->unfinished = 0;
	w->pos = w->end;
	return IOCX_CA_MORE;
}

/* Notes a put whose last byte has not arrived. */
IOCX_CA_INLINE void iocx_ca_start_put(struct iocx_ca_stream *s, const struct iocx_ca_event *e)
{
	s->unfinished = (__u8)(1 + e->notify + 2 * e->acknowledges);
	s->unfinished_sid = e->id;
	s->unfinished_ioid = e->other;
}

/* Whether the start of the next message is unknown. */
IOCX_CA_INLINE int iocx_ca_is_out_of_sync(const struct iocx_ca_stream *s)
{
	return s->sync < IOCX_CA_UNPROVED && s->skip == 0;
}

/* The boundaries are proved. */
IOCX_CA_INLINE void iocx_ca_regain(struct iocx_ca_stream *s)
{
	s->sync = IOCX_CA_REGAINED;
	s->to_check = IOCX_CA_CHECKED_MESSAGES;
}

/* After a silence that proves that a message starts next. */
IOCX_CA_INLINE void iocx_ca_regain_by_silence(struct iocx_ca_stream *s)
{
	/* A message that goes on says otherwise: the sender has only paused. */
	if (s->sync < IOCX_CA_REGAINED && !s->skip && !s->have)
		iocx_ca_regain(s);
}

#endif
