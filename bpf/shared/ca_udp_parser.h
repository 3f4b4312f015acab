/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Parser for Channel Access over UDP, without I/O: the bytes of one datagram in, searches, answers and beacons out,
 * one message a step. clang -target bpf and g++ both compile it.
 *
 * "Channel Access Protocol Specification", chapters "Name search" and "Beacons". A datagram holds whole
 * messages; the length of each is a multiple of 8 bytes (camessage() of rsrv stops at any other).
 *
 * To read a datagram, call iocx_ca_udp_begin(), then iocx_ca_udp_step() until it returns IOCX_CA_DONE. Before each
 * step, fill in bytes from `pos` on when iocx_ca_udp_wants_bytes() asks for it.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_CA_UDP_PARSER_H
#define IOC_EXPORTER_BPF_SHARED_CA_UDP_PARSER_H

#include "shared/ca_parser.h"

#define IOCX_CA_CMD_IS_UP 13 /* beacon */
#define IOCX_CA_CMD_REPEATER_CONFIRM 17
#define IOCX_CA_CMD_REPEATER_REGISTER 24

#define IOCX_CA_SEARCHED_NAME 96u /* bytes kept of a searched name, terminator included */

/* A message may start in the first REACH bytes; FILL adds its header and the part of the name that is kept. */
#define IOCX_CA_UDP_REACH 1024u
#define IOCX_CA_UDP_FILL (IOCX_CA_UDP_REACH + IOCX_CA_LONG_HEADER + IOCX_CA_SEARCHED_NAME)
#define IOCX_CA_UDP_ROOM 2048u

#define IOCX_CA_SOURCE_ADDRESS 0xFFFFFFFFu /* in a search answer: the sender is the server */

enum iocx_ca_udp_kind {
	IOCX_CA_UDP_NOTHING,
	IOCX_CA_UDP_SEARCH, /* a client asks who has a name: id = CID, at, size */
	IOCX_CA_UDP_ANSWER, /* a server has it: id = CID, port (TCP), address or IOCX_CA_SOURCE_ADDRESS */
	IOCX_CA_UDP_BEACON, /* a server is up: id = sequence number, port (TCP), address or 0 = the source's */
	IOCX_CA_UDP_BAD,    /* the remainder of this datagram is cut off or no Channel Access */
};

/* The datagram that is parsed, and the bytes of it that were copied in. */
struct iocx_ca_datagram {
	__u32 length;                 /* of its payload */
	__u32 pos;                    /* position of the next message */
	__u32 base;                   /* position of bytes[0] */
	__u16 to_watched;             /* its destination port is a server's */
	__u16 from_watched;           /* its source port is a server's */
	struct iocx_ca_header header; /* of the current message: in memory, where the verifier forgets its value */
	__u8 bytes[IOCX_CA_UDP_ROOM];
};

struct iocx_ca_udp_event {
	__u32 kind;
	__u32 id;
	__u32 port;
	__u32 address; /* host byte order */
	__u32 at;      /* of the payload in bytes[], at most REACH - 1 + LONG_HEADER */
	__u32 size;    /* of the payload */
};

IOCX_CA_INLINE void iocx_ca_udp_begin(struct iocx_ca_datagram *d, __u32 length, int to_watched, int from_watched)
{
	d->length = length;
	d->pos = 0;
	d->base = 0u - IOCX_CA_UDP_REACH; /* out of reach, so that bytes are wanted */
	d->to_watched = to_watched != 0;
	d->from_watched = from_watched != 0;
}

IOCX_CA_INLINE int iocx_ca_udp_wants_bytes(const struct iocx_ca_datagram *d)
{
	return d->pos < d->length && d->pos - d->base >= IOCX_CA_UDP_REACH;
}

/* How many bytes to fill in at bytes[0], from position `pos` on, which becomes `base`. At least 1. */
IOCX_CA_INLINE __u32 iocx_ca_udp_wanted(const struct iocx_ca_datagram *d)
{
	const __u32 left = d->length - d->pos;

	return left < IOCX_CA_UDP_FILL ? left : IOCX_CA_UDP_FILL;
}

/*
 * A SEARCH is a request when `count` is the version of the client. An answer has 0 there (search_reply_udp() of
 * rsrv, since V4.4) and a payload of 8 bytes with the version of the server, or none.
 */
IOCX_CA_INLINE void iocx_ca_udp_search(const struct iocx_ca_datagram *d, struct iocx_ca_udp_event *e)
{
	const struct iocx_ca_header *h = &d->header;

	if (h->count == 0) {
		if (!d->from_watched || h->size > 8 || h->type == 0)
			return;
		e->kind = IOCX_CA_UDP_ANSWER;
		e->id = h->parameter2;
		e->port = h->type;
		e->address = h->parameter1;
	} else if (d->to_watched && h->size >= 2) { /* rsrv ignores shorter requests */
		e->kind = IOCX_CA_UDP_SEARCH;
		e->id = h->parameter1;
		e->size = h->size;
	}
}

/* The event of a message over UDP. Returns 0 when Channel Access has no such message. */
IOCX_CA_INLINE int iocx_ca_udp_event_of(const struct iocx_ca_datagram *d, struct iocx_ca_udp_event *e)
{
	const struct iocx_ca_header *h = &d->header;

	switch (h->command) {
	case IOCX_CA_CMD_SEARCH:
		iocx_ca_udp_search(d, e);
		return 1;
	case IOCX_CA_CMD_IS_UP:
		if (!d->to_watched || h->count == 0)
			return 1; /* before V4.1 a beacon has no port */
		e->kind = IOCX_CA_UDP_BEACON;
		e->id = h->parameter1;
		e->port = h->count;
		e->address = h->parameter2;
		return 1;
	case IOCX_CA_CMD_VERSION:
	case IOCX_CA_CMD_NOT_FOUND:
	case IOCX_CA_CMD_REPEATER_CONFIRM:
	case IOCX_CA_CMD_REPEATER_REGISTER:
	case IOCX_CA_CMD_ECHO:
		return 1;
	default:
		return 0;
	}
}

/* Reads one message; its bytes must be there (iocx_ca_udp_wants_bytes). The kind may be IOCX_CA_UDP_NOTHING. */
IOCX_CA_INLINE int iocx_ca_udp_step(struct iocx_ca_datagram *d, struct iocx_ca_udp_event *e)
{
	struct iocx_ca_header *h = &d->header;
	__u32 at = d->pos - d->base, left = d->length - d->pos;
	__u64 total;

	e->kind = IOCX_CA_UDP_NOTHING;
	e->size = 0;
	if (d->pos >= d->length)
		return IOCX_CA_DONE;
	IOCX_CA_MASK(at, IOCX_CA_UDP_REACH - 1); /* changes nothing: the verifier's bound */
	e->at = at;
	if (left < IOCX_CA_HEADER || (left < IOCX_CA_LONG_HEADER && iocx_ca_is_long(d->bytes + at)))
		goto bad;
	iocx_ca_read_header(d->bytes + at, h);
	IOCX_CA_FORGET();
	e->at += h->length;
	total = (__u64)h->length + h->size;
	if (total > left || total % 8 || !iocx_ca_udp_event_of(d, e))
		goto bad;
	d->pos += (__u32)total;
	return IOCX_CA_MORE;
bad:
	e->kind = IOCX_CA_UDP_BAD;
	d->pos = d->length;
	return IOCX_CA_MORE;
}

#define IOCX_CA_EACH_BYTE 0x0101010101010101ULL

/*
 * Copies the name of a search, a payload of `size` bytes, up to its zero byte, and fills up with zeros, so that equal
 * names are equal words. Copies eight bytes at a time, the first one lowest (little endian). Returns whether the name
 * is longer than what is kept.
 */
IOCX_CA_INLINE int iocx_ca_read_name(__u64 *name, const __u8 *payload, __u32 size)
{
	const __u32 words = IOCX_CA_SEARCHED_NAME / 8;
	__u64 keep = ~0ULL, word, zeros;

#pragma GCC unroll 12
	for (__u32 i = 0; i < words; i++) {
		__builtin_memcpy(&word, payload + i * 8, 8);
		if (size < i * 8 + 8) /* payloads are padded to 8: the whole word belongs to another message */
			keep = 0;
		/* 0x80 in the first zero byte; the bits above it may be wrong and do not matter. */
		zeros = (word - IOCX_CA_EACH_BYTE) & ~word & (IOCX_CA_EACH_BYTE << 7);
		if (zeros) {
			name[i] = word & keep & (((zeros & -zeros) >> 7) - 1);
			keep = 0;
		} else {
			name[i] = word & keep;
		}
	}
	if (!keep)
		return 0;
	name[words - 1] &= ~(0xFFULL << 56); /* a terminator */
	return 1;
}

#endif
