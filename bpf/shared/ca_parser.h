/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Channel Access parser without I/O: bytes of one direction of a circuit in, events out, one message a
 * step. clang -target bpf compiles it into the tap, g++ into user space (src/protocol/ca_stream.h), so
 * that what the tests prove is what the kernel runs.
 *
 * How a segment is parsed: iocx_ca_begin(), then iocx_ca_step() until it says IOCX_CA_DONE, each time on a
 * window that was filled when iocx_ca_wants_bytes() asks for it, and not while iocx_ca_is_astray(): then
 * boundaries are lost, and ca_resync.h finds them. Positions count the carried bytes of earlier segments
 * first and then the segment's own.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_CA_PARSER_H
#define IOC_EXPORTER_BPF_SHARED_CA_PARSER_H

#include "shared/ca_header.h"

#define IOCX_CA_NAME 232u    /* bytes kept of a PV name, terminator included */
#define IOCX_CA_IDENTITY 64u /* bytes kept of a user's or host's name, terminator included */
#define IOCX_CA_CARRY 256u   /* a long header and a name: what must be seen in one piece */

/* A message may start in the first REACH bytes of the window and has CARRY more to be seen in. */
#define IOCX_CA_REACH 1024u
#define IOCX_CA_FILL (IOCX_CA_REACH + IOCX_CA_CARRY)
/* What is carried, and FILL rounded up to a power of two: what the verifier can see of its bound. */
#define IOCX_CA_ROOM (2048u + IOCX_CA_CARRY)

/* So many messages after boundaries were found again are asked to be plausible. */
#define IOCX_CA_DOUBT 64u

/* How well the direction's message boundaries are known. */
enum iocx_ca_sync {
	IOCX_CA_LOST,      /* not known: the tap came late, or bytes are missing */
	IOCX_CA_TENTATIVE, /* one message is believed, what follows it decides */
	IOCX_CA_REGAINED,  /* known again; the next headers are still asked to be plausible */
	IOCX_CA_FOLLOWED,  /* from the circuit's first byte, or since long enough */
};

enum iocx_ca_step {
	IOCX_CA_MORE, /* go on; the event's kind may be IOCX_CA_NOTHING */
	IOCX_CA_DONE, /* all of the segment is used; no event */
	IOCX_CA_LEFT, /* boundaries were lost, or are to be confirmed, at `pos`; no event */
};

enum iocx_ca_event_kind {
	IOCX_CA_NOTHING,
	/* The last byte of a WRITE or WRITE_NOTIFY arrived: id = SID, other = IOID, notify. */
	IOCX_CA_PUT,
	/* Nothing but to be counted. */
	IOCX_CA_GET,         /* READ, READ_NOTIFY */
	IOCX_CA_ECHO,        /* to server */
	IOCX_CA_UPDATE,      /* to client: a monitor's value */
	IOCX_CA_CREATE,      /* to server: id = CID, the payload starts with the name */
	IOCX_CA_CREATED,     /* to client: id = CID, other = SID; the header's count is the channel's */
	IOCX_CA_FAILED,      /* CREATE_CH_FAIL: id = CID */
	IOCX_CA_CLEAR,       /* to server: id = SID, other = CID */
	IOCX_CA_CLEAR_DONE,  /* to client, its answer: id = SID, other = CID */
	IOCX_CA_DISCONNECT,  /* SERVER_DISCONN: id = CID */
	IOCX_CA_USER,        /* CLIENT_NAME: the payload starts with it */
	IOCX_CA_HOST,        /* HOST_NAME: likewise */
	IOCX_CA_RIGHTS,      /* ACCESS_RIGHTS: id = CID, other = bits */
	IOCX_CA_SUBSCRIBE,   /* EVENT_ADD to server: id = SID, other = subscription */
	IOCX_CA_UNSUBSCRIBE, /* EVENT_CANCEL: id = SID, other = subscription */
	IOCX_CA_PAUSE,       /* EVENTS_OFF: the client wants no updates for now */
	IOCX_CA_RESUME,      /* EVENTS_ON */
	IOCX_CA_WRITTEN,     /* WRITE_NOTIFY to client: id = status, other = IOID */
	IOCX_CA_ERROR,       /* other = status; iocx_ca_read_error() tells what failed */
	IOCX_CA_NOT_CA,      /* the client's first message is not VERSION */
	IOCX_CA_ODD_START,   /* it is a VERSION unlike others, or, the server's, not VERSION at all */
};

/* One direction of a circuit between two segments. All zero: a circuit that was joined on its way. */
struct iocx_ca_stream {
	__u64 skip;     /* bytes of the current message still to come */
	__u32 have;     /* bytes in `carry`, less than IOCX_CA_CARRY */
	__u32 held_sid; /* of the put whose last byte has not arrived */
	__u32 held_ioid;
	__u8 sync;      /* enum iocx_ca_sync */
	__u8 held;      /* 0, or 1 + whether the put that waits is a WRITE_NOTIFY */
	__u8 first;     /* the next message is the circuit's first */
	__u8 begins_ca; /* the first message was VERSION as every CA client and server sends it */
	__u8 doubt;     /* REGAINED: so many more messages are asked to be plausible */
	__u8 pad[7];    /* `carry` is copied in words */
	__u8 carry[IOCX_CA_CARRY];
};

/* The search for boundaries in the segment at hand; see ca_resync.h. */
struct iocx_ca_lookout {
	__u32 active;
	__u32 at;       /* position of the header that is looked at: the candidate's, or behind it */
	__u32 messages; /* that hold, from the candidate on */
	__u32 trusted;  /* of these, with a channel that is known */
	__u8 bytes[IOCX_CA_LONG_HEADER];
};

/* The bytes at hand. */
struct iocx_ca_window {
	__u32 direction;
	__u32 carried; /* bytes in front of the segment's own */
	__u32 end;     /* carried + the segment's length */
	__u32 base;    /* position of bytes[0] */
	__u32 pos;     /* position of the next message */
	__u32 left;    /* bytes from there to the end */
	struct iocx_ca_lookout seek;
	struct iocx_ca_header header; /* of the message at hand: in memory, where the verifier forgets it */
	__u8 bytes[IOCX_CA_ROOM];
};

struct iocx_ca_event {
	__u32 kind;
	__u32 id;
	__u32 other;
	__u32 notify;
	__u32 at;   /* payload's offset in window.bytes, at most REACH - 1 + LONG_HEADER */
	__u32 size; /* payload bytes there: at most NAME, IDENTITY, or HEADER for ERROR */
	/* Of IOCX_CA_ERROR, set by iocx_ca_read_error(). */
	__u32 failed; /* the request's command */
	__u32 ioid;   /* its parameter 2 */
};

/* The circuit's first byte comes next. */
IOCX_CA_INLINE void iocx_ca_start(struct iocx_ca_stream *s)
{
	s->skip = 0;
	s->have = 0;
	s->held = 0;
	s->sync = IOCX_CA_FOLLOWED;
	s->first = 1;
	s->begins_ca = 0;
}

IOCX_CA_INLINE int iocx_ca_release_put(struct iocx_ca_stream *s, struct iocx_ca_event *e)
{
	e->kind = IOCX_CA_PUT;
	e->id = s->held_sid;
	e->other = s->held_ioid;
	e->notify = s->held - 1u;
	s->held = 0;
	return IOCX_CA_MORE;
}

/*
 * `missing` bytes were not seen. Returns 0 when they are inside a payload that nobody reads, so that
 * nothing is lost; 1 when the boundaries are lost. The put whose end is among them counts: the sender
 * has gone on to what follows it.
 */
IOCX_CA_INLINE int iocx_ca_gap(struct iocx_ca_stream *s, struct iocx_ca_event *e, __u32 missing)
{
	e->kind = IOCX_CA_NOTHING;
	if (s->skip > missing) {
		s->skip -= missing;
		return 0;
	}
	if (s->held && s->sync >= IOCX_CA_REGAINED)
		iocx_ca_release_put(s, e);
	s->held = 0;
	if (s->skip == missing && s->sync >= IOCX_CA_REGAINED) {
		s->skip = 0;
		return 0;
	}
	s->skip = 0;
	s->have = 0;
	s->first = 0;
	s->sync = IOCX_CA_LOST;
	return 1;
}

IOCX_CA_INLINE void iocx_ca_begin(struct iocx_ca_stream *s, struct iocx_ca_window *w, __u32 direction,
				  __u32 length)
{
	w->direction = direction;
	w->carried = s->have;
	w->end = s->have + length;
	w->pos = 0;
	w->seek.active = 0;
	w->base = 0u - IOCX_CA_REACH; /* out of reach: bytes are wanted */
}

/* Whether the window must be filled from `pos` on before the next step. */
IOCX_CA_INLINE int iocx_ca_wants_bytes(const struct iocx_ca_stream *s, const struct iocx_ca_window *w)
{
	return s->skip == 0 && w->pos - w->base >= IOCX_CA_REACH && w->pos < w->end;
}

/*
 * Where the next message starts in the window. Only while the window reaches it; the mask changes
 * nothing then, it is the bound that the verifier asks for.
 */
IOCX_CA_INLINE __u32 iocx_ca_at(const struct iocx_ca_window *w, __u32 pos)
{
	__u32 at = pos - w->base;

	IOCX_CA_MASK(at, IOCX_CA_REACH - 1);
	return at;
}

/* Nothing more of this segment can be trusted. */
IOCX_CA_INLINE int iocx_ca_lose(struct iocx_ca_stream *s, struct iocx_ca_window *w)
{
	s->sync = IOCX_CA_LOST;
	s->held = 0;
	w->pos = w->end;
	return IOCX_CA_DONE;
}

/* Keeps what is left at offset `at`, too short to be understood, for the next segment. */
IOCX_CA_INLINE int iocx_ca_keep(struct iocx_ca_stream *s, struct iocx_ca_window *w, __u32 at)
{
	IOCX_CA_MASK(at, IOCX_CA_REACH - 1);
	iocx_ca_copy(s->carry, w->bytes + at, IOCX_CA_CARRY);
	s->have = w->left;
	w->pos = w->end;
	return IOCX_CA_DONE;
}

/* Passes over a message of `total` bytes. */
IOCX_CA_INLINE void iocx_ca_pass(struct iocx_ca_stream *s, struct iocx_ca_window *w, __u64 total)
{
	if (total > w->left) {
		s->skip = total - w->left;
		w->pos = w->end;
	} else {
		w->pos += (__u32)total;
	}
}

IOCX_CA_INLINE int iocx_ca_is_put(const struct iocx_ca_window *w, const struct iocx_ca_header *h)
{
	return w->direction == IOCX_CA_TO_SERVER &&
	       (h->command == IOCX_CA_CMD_WRITE || h->command == IOCX_CA_CMD_WRITE_NOTIFY);
}

/* A put whose last byte is still to come. */
IOCX_CA_INLINE void iocx_ca_hold_put(struct iocx_ca_stream *s, const struct iocx_ca_window *w,
				     const struct iocx_ca_header *h)
{
	if (!iocx_ca_is_put(w, h))
		return;
	s->held = h->command == IOCX_CA_CMD_WRITE_NOTIFY ? 2 : 1;
	s->held_sid = h->parameter1;
	s->held_ioid = h->parameter2;
}

/* Whether the header at offset `at` is not all there. */
IOCX_CA_INLINE int iocx_ca_is_cut(const struct iocx_ca_window *w, __u32 at)
{
	if (w->left < IOCX_CA_HEADER)
		return 1;
	IOCX_CA_MASK(at, IOCX_CA_REACH - 1);
	return w->left < IOCX_CA_LONG_HEADER && iocx_ca_is_long(w->bytes + at);
}

/* Whether the next message's place is not known, or not for sure. */
IOCX_CA_INLINE int iocx_ca_is_astray(const struct iocx_ca_stream *s)
{
	return s->sync < IOCX_CA_REGAINED && s->skip == 0;
}

/* Payload bytes that must be seen in one piece before the message can be read. */
IOCX_CA_INLINE __u32 iocx_ca_needed(const struct iocx_ca_window *w, const struct iocx_ca_header *h)
{
	__u32 kept = 0;

	if (w->direction != IOCX_CA_TO_SERVER) {
		if (h->command == IOCX_CA_CMD_ERROR)
			kept = IOCX_CA_HEADER;
	} else if (h->command == IOCX_CA_CMD_CREATE_CHAN) {
		kept = IOCX_CA_NAME;
	} else if (h->command == IOCX_CA_CMD_CLIENT_NAME || h->command == IOCX_CA_CMD_HOST_NAME) {
		kept = IOCX_CA_IDENTITY;
	}
	return h->size < kept ? h->size : kept;
}

IOCX_CA_INLINE __u32 iocx_ca_event_to_server(__u32 command)
{
	switch (command) {
	case IOCX_CA_CMD_READ:
	case IOCX_CA_CMD_READ_NOTIFY:
		return IOCX_CA_GET;
	case IOCX_CA_CMD_ECHO:
		return IOCX_CA_ECHO;
	case IOCX_CA_CMD_CREATE_CHAN:
		return IOCX_CA_CREATE;
	case IOCX_CA_CMD_CLEAR_CHANNEL:
		return IOCX_CA_CLEAR;
	case IOCX_CA_CMD_CLIENT_NAME:
		return IOCX_CA_USER;
	case IOCX_CA_CMD_HOST_NAME:
		return IOCX_CA_HOST;
	case IOCX_CA_CMD_EVENT_ADD:
		return IOCX_CA_SUBSCRIBE;
	case IOCX_CA_CMD_EVENT_CANCEL:
		return IOCX_CA_UNSUBSCRIBE;
	case IOCX_CA_CMD_EVENTS_OFF:
		return IOCX_CA_PAUSE;
	case IOCX_CA_CMD_EVENTS_ON:
		return IOCX_CA_RESUME;
	default:
		return IOCX_CA_NOTHING;
	}
}

IOCX_CA_INLINE __u32 iocx_ca_event_to_client(__u32 command, __u32 size)
{
	switch (command) {
	case IOCX_CA_CMD_EVENT_ADD: /* without a value: the end of a monitor is confirmed */
		return size ? IOCX_CA_UPDATE : IOCX_CA_NOTHING;
	case IOCX_CA_CMD_CREATE_CHAN:
		return IOCX_CA_CREATED;
	case IOCX_CA_CMD_CREATE_CH_FAIL:
		return IOCX_CA_FAILED;
	case IOCX_CA_CMD_CLEAR_CHANNEL:
		return IOCX_CA_CLEAR_DONE;
	case IOCX_CA_CMD_SERVER_DISCONN:
		return IOCX_CA_DISCONNECT;
	case IOCX_CA_CMD_ACCESS_RIGHTS:
		return IOCX_CA_RIGHTS;
	case IOCX_CA_CMD_WRITE_NOTIFY:
		return IOCX_CA_WRITTEN;
	case IOCX_CA_CMD_ERROR:
		return size < IOCX_CA_HEADER ? IOCX_CA_NOTHING : IOCX_CA_ERROR;
	default:
		return IOCX_CA_NOTHING;
	}
}

/* What a message other than a put means. */
IOCX_CA_INLINE __u32 iocx_ca_event_of(__u32 direction, const struct iocx_ca_header *h)
{
	return direction == IOCX_CA_TO_SERVER ? iocx_ca_event_to_server(h->command) :
						iocx_ca_event_to_client(h->command, h->size);
}

/*
 * The request that an ERROR answers: its header stands first in the payload, 16 bytes of which are at
 * `payload`; all that is read of it is at the same place in the long form (vsend_err() of rsrv).
 */
IOCX_CA_INLINE void iocx_ca_read_error(struct iocx_ca_event *e, const __u8 *payload)
{
	e->failed = iocx_ca_u16(payload);
	e->id = iocx_ca_u32(payload + 8);
	e->ioid = iocx_ca_u32(payload + 12);
}

/* The rest of a message whose header came in an earlier segment. */
IOCX_CA_INLINE void iocx_ca_finish(struct iocx_ca_stream *s, struct iocx_ca_window *w,
				  struct iocx_ca_event *e)
{
	const __u32 left = w->end - w->pos;

	if (s->skip > left) {
		s->skip -= left;
		w->pos = w->end;
		return;
	}
	w->pos += (__u32)s->skip;
	s->skip = 0;
	if (s->sync == IOCX_CA_TENTATIVE && w->pos == w->end) {
		s->sync = IOCX_CA_REGAINED; /* it ended with a segment */
		s->doubt = IOCX_CA_DOUBT;
	}
	if (s->held && s->sync != IOCX_CA_TENTATIVE)
		iocx_ca_release_put(s, e);
}

/*
 * What the first message of a direction says about the protocol. VERSION has no payload; its type is a
 * priority (99 is the highest), its count the minor version. caproto's servers put a 1 where others have 0.
 */
IOCX_CA_INLINE void iocx_ca_judge_first(struct iocx_ca_stream *s, const struct iocx_ca_window *w,
					struct iocx_ca_event *e)
{
	const struct iocx_ca_header *h = &w->header;

	s->first = 0;
	if (h->command == IOCX_CA_CMD_VERSION && h->size == 0 && h->type <= 99 && h->count >= 1 &&
	    h->count <= 31 && h->parameter1 <= (w->direction == IOCX_CA_TO_CLIENT) && h->parameter2 == 0)
		s->begins_ca = 1;
	else if (w->direction == IOCX_CA_TO_SERVER && h->command != IOCX_CA_CMD_VERSION)
		e->kind = IOCX_CA_NOT_CA;
	else if (e->kind == IOCX_CA_NOTHING)
		e->kind = IOCX_CA_ODD_START;
}

/* Boundaries that were found again are not, after all. The search goes on behind `pos`. */
IOCX_CA_INLINE int iocx_ca_leave(struct iocx_ca_stream *s, struct iocx_ca_window *w)
{
	s->sync = IOCX_CA_LOST;
	w->pos += 8;
	return IOCX_CA_LEFT;
}

/* One message, or as much of one as there is. The window reaches `pos` (iocx_ca_wants_bytes). */
IOCX_CA_INLINE int iocx_ca_step(struct iocx_ca_stream *s, struct iocx_ca_window *w,
				struct iocx_ca_event *e)
{
	struct iocx_ca_header *h = &w->header;

	e->kind = IOCX_CA_NOTHING;
	if (w->pos >= w->end)
		return IOCX_CA_DONE;
	if (s->skip) {
		iocx_ca_finish(s, w, e);
		return s->sync == IOCX_CA_TENTATIVE ? IOCX_CA_LEFT : IOCX_CA_MORE;
	}
	w->left = w->end - w->pos;
	e->at = iocx_ca_at(w, w->pos);
	if (w->left < IOCX_CA_LONG_HEADER && iocx_ca_is_cut(w, e->at))
		return iocx_ca_keep(s, w, e->at);
	iocx_ca_read_header(w->bytes + iocx_ca_at(w, w->pos), h);
	IOCX_CA_FORGET();
	if (s->sync != IOCX_CA_FOLLOWED) {
		if (!iocx_ca_plausible(w->direction, h))
			return iocx_ca_leave(s, w);
		if (s->doubt)
			s->doubt--;
		else
			s->sync = IOCX_CA_FOLLOWED;
		IOCX_CA_FORGET();
	}
	e->id = h->parameter1;
	e->other = h->parameter2;
	if (iocx_ca_is_put(w, h)) {
		e->notify = h->command == IOCX_CA_CMD_WRITE_NOTIFY;
		iocx_ca_pass(s, w, (__u64)h->length + h->size);
		if (s->skip)
			iocx_ca_hold_put(s, w, h);
		else
			e->kind = IOCX_CA_PUT;
	} else {
		e->size = iocx_ca_needed(w, h);
		IOCX_CA_FORGET();
		if (w->left < h->length + e->size)
			return iocx_ca_keep(s, w, e->at);
		e->at += h->length;
		e->kind = iocx_ca_event_of(w->direction, h);
		iocx_ca_pass(s, w, (__u64)h->length + h->size);
	}
	IOCX_CA_FORGET();
	if (s->first)
		iocx_ca_judge_first(s, w, e);
	return IOCX_CA_MORE;
}

#endif
