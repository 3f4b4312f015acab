/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Finds message boundaries again where they were lost: after bytes that were not seen, or on a circuit that
 * was joined on its way. Pure C without I/O that clang -target bpf and g++ both compile.
 *
 * Better to miss a put than to invent one: the bytes of an array may look like a header. A candidate is
 * believed when its header is plausible, its channel is known, and so it is with two messages behind it, or
 * when its message and those behind it end where the segment ends. Messages are a multiple of 8 bytes long,
 * so that candidates stand 8 bytes apart.
 *
 * How a segment is searched: iocx_ca_seek_begin(), then iocx_ca_seek() until it says something else than
 * IOCX_CA_SEEK_ON, each time with up to IOCX_CA_LONG_HEADER bytes of the segment from seek.at on in
 * seek.bytes, as many as iocx_ca_seek_wants() says, and with the caller's trust in the header there.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_CA_RESYNC_H
#define IOC_EXPORTER_BPF_SHARED_CA_RESYNC_H

#include "shared/ca_parser.h"

#define IOCX_CA_CHAIN 3u  /* messages in a row that are proof enough */
#define IOCX_CA_FAR (64u << 20) /* no message is believed on its own that ends further off */

enum iocx_ca_seek_result {
	IOCX_CA_SEEK_ON,
	IOCX_CA_SEEK_FOUND, /* the next message starts at `pos`; a put may be held that is to be released */
	IOCX_CA_SEEK_END,   /* nothing in this segment */
};

/* What is known of the channel that a plausible header names. */
enum iocx_ca_trust {
	IOCX_CA_REFUSED, /* it is not known: no message of this circuit */
	IOCX_CA_NAMELESS, /* the message names none */
	IOCX_CA_TRUSTED,  /* known, or it can not be told */
};

enum iocx_ca_names {
	IOCX_CA_NAMES_NONE,
	IOCX_CA_NAMES_SID, /* parameter 1 */
	IOCX_CA_NAMES_CID, /* parameter 1 */
	IOCX_CA_NAMES_NEW, /* what can not be known before, or stands nowhere */
};

/* Which id a plausible message has. */
IOCX_CA_INLINE __u32 iocx_ca_names(__u32 direction, const struct iocx_ca_header *h)
{
	const __u32 bit = IOCX_CA_BIT(h->command);

	if (bit & (IOCX_CA_BIT(IOCX_CA_CMD_ECHO) | IOCX_CA_BIT(IOCX_CA_CMD_EVENTS_OFF) |
		   IOCX_CA_BIT(IOCX_CA_CMD_EVENTS_ON) | IOCX_CA_BIT(IOCX_CA_CMD_READ_SYNC)))
		return IOCX_CA_NAMES_NONE;
	if (direction == IOCX_CA_TO_SERVER)
		return bit & IOCX_CA_FROM_CLIENT_NAMED ? IOCX_CA_NAMES_NEW : IOCX_CA_NAMES_SID;
	if (h->command == IOCX_CA_CMD_CLEAR_CHANNEL)
		return IOCX_CA_NAMES_NEW; /* the channel has gone with the request */
	if (bit & (IOCX_CA_BIT(IOCX_CA_CMD_ACCESS_RIGHTS) | IOCX_CA_BIT(IOCX_CA_CMD_CREATE_CHAN) |
		   IOCX_CA_BIT(IOCX_CA_CMD_CREATE_CH_FAIL) | IOCX_CA_BIT(IOCX_CA_CMD_SERVER_DISCONN)))
		return IOCX_CA_NAMES_CID;
	return IOCX_CA_NAMES_NEW;
}

/*
 * Starts the search at `pos`: of a message that was believed it is the end, and the first candidate is that
 * message; else for one from there on, `to_boundary` bytes further first, where messages can start.
 */
IOCX_CA_INLINE void iocx_ca_seek_begin(const struct iocx_ca_stream *s, struct iocx_ca_window *w,
				       __u32 to_boundary)
{
	struct iocx_ca_resync *seek = &w->seek;

	if (w->pos < w->carried)
		w->pos = w->carried; /* those bytes are not of the segment */
	if (s->sync == IOCX_CA_LOST)
		w->pos += to_boundary;
	seek->at = w->pos;
	seek->messages = s->sync == IOCX_CA_TENTATIVE;
	seek->trusted = s->sync == IOCX_CA_TENTATIVE;
	seek->active = 1;
}

/* How many bytes the next call needs in seek.bytes; 0: it needs none. */
IOCX_CA_INLINE __u32 iocx_ca_seek_wants(const struct iocx_ca_window *w)
{
	const __u32 at = w->seek.at;

	if (at >= w->end || w->end - at < IOCX_CA_HEADER)
		return 0;
	return w->end - at < IOCX_CA_LONG_HEADER ? IOCX_CA_HEADER : IOCX_CA_LONG_HEADER;
}

/* Whether more than the header's shape speaks for it. `text`: the first byte of its payload. */
IOCX_CA_INLINE int iocx_ca_likely(__u32 direction, const struct iocx_ca_header *h, __u8 text)
{
	const __u32 bit = IOCX_CA_BIT(h->command);

	/* Nobody sends anything with these; so few bits are easily met by chance. */
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

/* Reads what is in seek.bytes, `size` of them, to window.header. Returns 0 when it is no header. */
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

IOCX_CA_INLINE int iocx_ca_seek_found(struct iocx_ca_stream *s, struct iocx_ca_window *w)
{
	s->sync = IOCX_CA_REGAINED;
	s->to_check = IOCX_CA_CHECKED_MESSAGES;
	w->seek.active = 0;
	w->base = w->pos - IOCX_CA_REACH; /* out of reach: bytes are wanted */
	return IOCX_CA_SEEK_FOUND;
}

/* Not this one: the next candidate. */
IOCX_CA_INLINE int iocx_ca_seek_next(struct iocx_ca_stream *s, struct iocx_ca_window *w)
{
	struct iocx_ca_resync *seek = &w->seek;

	s->sync = IOCX_CA_LOST;
	s->unfinished = 0;
	w->pos += 8;
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
 * The messages from the candidate on leave the segment, or their last header does. `strict`: channels are
 * known, so that one that fits says more.
 */
IOCX_CA_INLINE int iocx_ca_seek_edge(struct iocx_ca_stream *s, struct iocx_ca_window *w, int strict)
{
	struct iocx_ca_resync *seek = &w->seek;

	const int anchored = s->sync == IOCX_CA_TENTATIVE;

	if (seek->at == w->end) {
		if (seek->trusted && (strict || anchored || seek->trusted > 1 || w->pos == 0))
			return iocx_ca_seek_found(s, w);
		return iocx_ca_seek_next(s, w);
	}
	if (seek->trusted > 1 && (strict || anchored))
		return iocx_ca_seek_found(s, w);
	if (seek->at < w->end || seek->at - w->end > IOCX_CA_FAR || anchored || seek->messages != 1 ||
	    !seek->trusted || !(w->pos == 0 || (strict && w->direction == IOCX_CA_TO_SERVER)))
		return iocx_ca_seek_next(s, w);
	/* One message of which the end is to come: what stands behind it will tell. */
	s->sync = IOCX_CA_TENTATIVE;
	iocx_ca_start_put(s, w, &w->header);
	s->skip = seek->at - w->end;
	w->pos = w->end;
	seek->active = 0;
	return IOCX_CA_SEEK_END;
}

/* One step. `trust`: in the header that iocx_ca_seek_header() has read; REFUSED when it has read none. */
IOCX_CA_INLINE int iocx_ca_seek(struct iocx_ca_stream *s, struct iocx_ca_window *w, __u32 trust, int strict)
{
	struct iocx_ca_resync *seek = &w->seek;
	__u64 total;

	if (trust == IOCX_CA_REFUSED)
		return iocx_ca_seek_next(s, w);
	seek->messages++;
	if (trust == IOCX_CA_TRUSTED)
		seek->trusted++;
	IOCX_CA_FORGET();
	if (seek->messages >= IOCX_CA_CHAIN && seek->trusted)
		return iocx_ca_seek_found(s, w);
	if (seek->messages > IOCX_CA_CHAIN * 4)
		return iocx_ca_seek_next(s, w); /* echoes only: there is nothing to tell them by */
	total = (__u64)w->header.length + w->header.size;
	if (total > 0x7FFFFFFF)
		return iocx_ca_seek_next(s, w);
	seek->at += (__u32)total;
	IOCX_CA_FORGET();
	if (iocx_ca_seek_wants(w))
		return IOCX_CA_SEEK_ON;
	return iocx_ca_seek_edge(s, w, strict);
}

#endif
