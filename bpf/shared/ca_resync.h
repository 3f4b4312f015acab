/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Finds message boundaries again where they were lost: after bytes that were not seen, or on a circuit that was open
 * before the tap saw it. Pure C without I/O that clang -target bpf and g++ both compile.
 *
 * It is better to miss a put than to invent one: the bytes of an array may look like a header. A candidate is
 * tried when it and the two messages behind it have plausible headers and known channels, or when its message and
 * those behind it end where the segment ends. Messages are a multiple of 8 bytes long, so that candidates stand
 * 8 bytes apart, once it is known where in the stream they start.
 *
 * Each segment is searched by itself: a header that is cut in two by its end is no candidate.
 *
 * To the server, a candidate is no proof: of the messages from it on, in this segment and later ones, iocx_ca_doubt()
 * reads headers alone. The boundaries are proved when the server answers a put-callback among them, or when
 * IOCX_CA_PROOF others are plausible and name known channels. The first message that does not refutes the candidate,
 * and the search goes on behind it. To the client, the candidate is believed.
 *
 * To search a segment, call iocx_ca_seek_begin(), then iocx_ca_seek() while it returns IOCX_CA_SEEK_ON. Before each
 * call, copy as many bytes as iocx_ca_seek_wants() asks for, from position seek.at on, to seek.bytes, and find out
 * whether the channel of the header there is known.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_CA_RESYNC_H
#define IOC_EXPORTER_BPF_SHARED_CA_RESYNC_H

#include "shared/ca_parser.h"

#define IOCX_CA_CHAIN 3u /* messages in a row that make a candidate */

enum iocx_ca_seek_result {
	IOCX_CA_SEEK_ON,
	IOCX_CA_SEEK_FOUND, /* the next message starts at `pos` */
	IOCX_CA_SEEK_END,   /* nothing in this segment */
};

/* Whether the channel that a plausible header names is known. */
enum iocx_ca_trust {
	IOCX_CA_REFUSED,  /* it is not: this is no message of the circuit */
	IOCX_CA_NAMELESS, /* the message names no channel */
	IOCX_CA_TRUSTED,  /* it is, or that cannot be decided */
};

/* Which id of a channel a message has. */
enum iocx_ca_names {
	IOCX_CA_NAMES_NONE,
	IOCX_CA_NAMES_SID, /* parameter 1 */
	IOCX_CA_NAMES_CID, /* parameter 1 */
	IOCX_CA_NAMES_NEW, /* an id that is new, or that is kept nowhere */
};

IOCX_CA_INLINE __u32 iocx_ca_names(__u32 direction, const struct iocx_ca_header *h)
{
	const __u32 bit = IOCX_CA_BIT(h->command);

	if (bit & (IOCX_CA_BIT(IOCX_CA_CMD_ECHO) | IOCX_CA_BIT(IOCX_CA_CMD_EVENTS_OFF) |
		   IOCX_CA_BIT(IOCX_CA_CMD_EVENTS_ON) | IOCX_CA_BIT(IOCX_CA_CMD_READ_SYNC)))
		return IOCX_CA_NAMES_NONE;
	if (direction == IOCX_CA_TO_SERVER)
		return bit & IOCX_CA_FROM_CLIENT_NAMED ? IOCX_CA_NAMES_NEW : IOCX_CA_NAMES_SID;
	if (h->command == IOCX_CA_CMD_CLEAR_CHANNEL)
		return IOCX_CA_NAMES_NEW; /* the request has ended the channel */
	if (bit & (IOCX_CA_BIT(IOCX_CA_CMD_ACCESS_RIGHTS) | IOCX_CA_BIT(IOCX_CA_CMD_CREATE_CHAN) |
		   IOCX_CA_BIT(IOCX_CA_CMD_CREATE_CH_FAIL) | IOCX_CA_BIT(IOCX_CA_CMD_SERVER_DISCONN)))
		return IOCX_CA_NAMES_CID;
	return IOCX_CA_NAMES_NEW;
}

/*
 * Starts the search at `pos`. The first candidate is `to_boundary` bytes further, where messages can start; the next
 * ones follow every `stride` bytes: 1 where it is not known where in the stream messages can start.
 */
IOCX_CA_INLINE void iocx_ca_seek_begin(struct iocx_ca_window *w, __u32 to_boundary, __u32 stride)
{
	struct iocx_ca_resync *seek = &w->seek;

	if (w->pos < w->carried) /* of a message that was being read */
		w->pos = w->carried;
	w->pos += to_boundary;
	seek->stride = stride;
	seek->at = w->pos;
	seek->messages = 0;
	seek->trusted = 0;
	seek->active = 1;
}

/* How many bytes the next call needs in seek.bytes; may be 0. */
IOCX_CA_INLINE __u32 iocx_ca_seek_wants(const struct iocx_ca_window *w)
{
	const __u32 at = w->seek.at;

	if (at >= w->end || w->end - at < IOCX_CA_HEADER)
		return 0;
	return w->end - at < IOCX_CA_LONG_HEADER ? IOCX_CA_HEADER : IOCX_CA_LONG_HEADER;
}

/* Checks further fields of a plausible header. `text`: the first byte of the payload. */
IOCX_CA_INLINE int iocx_ca_likely(__u32 direction, const struct iocx_ca_header *h, __u8 text)
{
	const __u32 bit = IOCX_CA_BIT(h->command);

	/* All fields of these are 0: their command alone is too easily met by chance. */
	if (iocx_ca_names(direction, h) == IOCX_CA_NAMES_NONE)
		return (h->type | h->count | h->parameter1 | h->parameter2) == 0;
	if (direction == IOCX_CA_TO_SERVER)
		return !(bit & IOCX_CA_FROM_CLIENT_NAMED) || (text > ' ' && text <= '~');
	/* Parameter 1 is a status: message number times 8, severity (caerr.h). */
	if (h->size && (bit & (IOCX_CA_BIT(IOCX_CA_CMD_EVENT_ADD) | IOCX_CA_BIT(IOCX_CA_CMD_READ_NOTIFY))))
		return h->parameter1 && h->parameter1 < 1024 && h->count;
	if (h->command == IOCX_CA_CMD_WRITE_NOTIFY)
		return h->parameter1 && h->parameter1 < 1024;
	return 1;
}

/* Reads `size` bytes of seek.bytes to window.header. Returns 0 when they are no header. */
IOCX_CA_INLINE int iocx_ca_seek_header(struct iocx_ca_window *w, __u32 size)
{
	const __u8 *bytes = w->seek.bytes;
	struct iocx_ca_header *h = &w->header;

	if (bytes[0] != 0 || bytes[1] > IOCX_CA_CMD_SERVER_DISCONN)
		return 0;
	if (size < IOCX_CA_LONG_HEADER && (iocx_ca_is_long(bytes)))
		return 0;
	iocx_ca_read_header(bytes, h);
	IOCX_CA_FORGET();
	if (!iocx_ca_plausible(w->direction, h))
		return 0;
	IOCX_CA_FORGET();
	return iocx_ca_likely(w->direction, h, size < IOCX_CA_LONG_HEADER ? ' ' : bytes[IOCX_CA_HEADER]);
}

/* The candidate is accepted: believed, or on trial for `to_prove` messages. */
IOCX_CA_INLINE int iocx_ca_seek_found(struct iocx_ca_stream *s, struct iocx_ca_window *w, __u32 to_prove)
{
	iocx_ca_regain(s);
	if (to_prove) {
		s->sync = IOCX_CA_UNPROVED;
		s->to_check = (__u8)to_prove;
	}
	s->have = 0;
	w->seek.active = 0;
	w->base = w->pos - IOCX_CA_REACH; /* out of reach, so that bytes are wanted */
	return IOCX_CA_SEEK_FOUND;
}

IOCX_CA_INLINE __u32 iocx_ca_to_prove(const struct iocx_ca_window *w)
{
	return w->direction == IOCX_CA_TO_SERVER ? IOCX_CA_PROOF : 0;
}

/* The candidate is refused: goes on to the next one. */
IOCX_CA_INLINE int iocx_ca_seek_next(struct iocx_ca_window *w)
{
	struct iocx_ca_resync *seek = &w->seek;

	w->pos += seek->stride;
	seek->at = w->pos;
	seek->messages = 0;
	seek->trusted = 0;
	if (iocx_ca_seek_wants(w))
		return IOCX_CA_SEEK_ON;
	w->pos = w->end;
	seek->active = 0;
	return IOCX_CA_SEEK_END;
}

/*
 * Decides about a candidate whose row of messages reaches the end of the segment. `strict`: all channels of the
 * circuit are known, so that a known one proves more.
 */
IOCX_CA_INLINE int iocx_ca_seek_edge(struct iocx_ca_stream *s, struct iocx_ca_window *w, int strict)
{
	struct iocx_ca_resync *seek = &w->seek;
	const __u32 to_prove = iocx_ca_to_prove(w);

	if (!seek->trusted)
		return iocx_ca_seek_next(w);
	if (seek->trusted > 1 && (strict || seek->at == w->end))
		return iocx_ca_seek_found(s, w, to_prove);
	if (seek->at == w->end && (strict || w->pos == 0))
		return iocx_ca_seek_found(s, w, to_prove);
	if (seek->at < w->end || seek->at - w->end > IOCX_CA_FAR || seek->messages != 1 ||
	    !(w->pos == 0 || (strict && w->direction == IOCX_CA_TO_SERVER)))
		return iocx_ca_seek_next(w);
	/* One message whose end is in a later segment: at least the message behind it will decide. */
	return iocx_ca_seek_found(s, w, to_prove ? to_prove : 2);
}

/* One step. `trust` is about the header that iocx_ca_seek_header() has read; REFUSED when it has read none. */
IOCX_CA_INLINE int iocx_ca_seek(struct iocx_ca_stream *s, struct iocx_ca_window *w, __u32 trust, int strict)
{
	struct iocx_ca_resync *seek = &w->seek;
	__u64 total;

	if (trust == IOCX_CA_REFUSED)
		return iocx_ca_seek_next(w);
	/* It would hide all that comes in its place. */
	total = (__u64)w->header.length + w->header.size;
	if (total > IOCX_CA_FAR)
		return iocx_ca_seek_next(w);
	seek->messages++;
	if (trust == IOCX_CA_TRUSTED)
		seek->trusted++;
	IOCX_CA_FORGET();
	if (seek->messages >= IOCX_CA_CHAIN && seek->trusted)
		return iocx_ca_seek_found(s, w, iocx_ca_to_prove(w));
	if (seek->messages > IOCX_CA_CHAIN * 4)
		return iocx_ca_seek_next(w); /* only messages without a channel: they prove nothing */
	seek->at += (__u32)total;
	IOCX_CA_FORGET();
	if (iocx_ca_seek_wants(w))
		return IOCX_CA_SEEK_ON;
	return iocx_ca_seek_edge(s, w, strict);
}

/* Reads the header of one message that is not believed yet, where iocx_ca_step() reads a believed message. */
IOCX_CA_INLINE int iocx_ca_doubt(struct iocx_ca_stream *s, struct iocx_ca_window *w, struct iocx_ca_event *e)
{
	struct iocx_ca_header *h = &w->header;
	const int header = iocx_ca_next_header(s, w, e);

	if (header != IOCX_CA_HAS_HEADER)
		return header;
	/* Of a name that is in a later segment nothing is known. */
	if (!iocx_ca_plausible(w->direction, h) || (__u64)h->length + h->size > IOCX_CA_FAR ||
	    !iocx_ca_likely(w->direction, h,
			    w->left > IOCX_CA_HEADER ? w->bytes[iocx_ca_at(w, w->pos) + IOCX_CA_HEADER] : '~'))
		return iocx_ca_distrust(s, w);
	IOCX_CA_FORGET();
	iocx_ca_pass(s, w, (__u64)h->length + h->size);
	e->kind = IOCX_CA_DOUBTED;
	e->size = iocx_ca_names(w->direction, h);
	e->id = h->parameter1;
	e->other = h->parameter2;
	e->notify = w->direction == IOCX_CA_TO_SERVER && h->command == IOCX_CA_CMD_WRITE_NOTIFY;
	return IOCX_CA_MORE;
}

/* Decides about the message of `e`. Returns 1 when it has proved the boundaries: one that is answered cannot. */
IOCX_CA_INLINE int iocx_ca_judge(struct iocx_ca_stream *s, const struct iocx_ca_event *e, __u32 trust)
{
	if (trust == IOCX_CA_REFUSED)
		iocx_ca_lose_place(s);
	if (trust != IOCX_CA_TRUSTED || e->notify)
		return 0;
	s->to_check--;
	return !s->to_check;
}

#endif
