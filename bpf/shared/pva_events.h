/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Meaning of messages of PV Access over TCP for the exporter: events, and those of a server's messages. Pure C without I/O
 * that clang -target bpf and g++ both compile.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_PVA_EVENTS_H
#define IOC_EXPORTER_BPF_SHARED_PVA_EVENTS_H

#include "shared/pva_header.h"

#define IOCX_PVA_IDENTITY 248u /* of CONNECTION_VALIDATION, so many bytes are read; a header stands before them */
#define IOCX_PVA_TEXT 64u      /* the same of a status and its message, without the header */

enum iocx_pva_event_kind {
	IOCX_PVA_NOTHING,
	IOCX_PVA_BYTE_ORDER,  /* SET_BYTE_ORDER: a server's first message */
	IOCX_PVA_OFFER,       /* CONNECTION_VALIDATION of the server */
	IOCX_PVA_IDENTIFY,    /* and of the client: iocx_pva_read_identity() reads the payload */
	IOCX_PVA_VALIDATED,   /* to client: status */
	IOCX_PVA_CREATE,      /* to server, for each channel: id = CID, the name at `at` */
	IOCX_PVA_CREATED,     /* to client: id = CID, other = SID, status */
	IOCX_PVA_DESTROY,     /* DESTROY_CHANNEL, either direction: id = SID, other = CID */
	IOCX_PVA_INIT,        /* to server: a request is set up: id = SID, other = IOID */
	IOCX_PVA_INITED,      /* to client, its answer: other = IOID, status */
	IOCX_PVA_PUT,         /* to server, the last byte of a put has arrived: id = SID, other = IOID */
	IOCX_PVA_ASK,         /* to server, another use of a request: id = SID, other = IOID */
	IOCX_PVA_ANSWER,      /* to client, the answer to PUT or ASK: other = IOID, status */
	IOCX_PVA_UPDATE,      /* to client, of a monitor: other = IOID */
	IOCX_PVA_END_REQUEST, /* to server: id = SID, other = IOID */
	IOCX_PVA_UNREADABLE,  /* the fields are spread over segments, or not there: the message is skipped */
	IOCX_PVA_NOT_PVA,     /* REFUSED_ALL of the first message of a direction */
	IOCX_PVA_REFUSED_ALL, /* a message at which all receivers close the circuit: they read nothing behind it */
};

struct iocx_pva_event {
	__u32 kind;
	__u32 id;
	__u32 other;
	__u32 command; /* of a request */
	__u32 sub;     /* its subcommand */
	__u32 status;  /* its type; iocx_pva_is_ok() */
	__u32 big;     /* the message is big endian */
	/* Offset in window.bytes, at most REACH + 16: of the identity, of the name, or of a status' message. */
	__u32 at;
	__u32 size;   /* bytes there: at most IDENTITY, NAME - 1 or TEXT */
	__u32 length; /* of the whole name, or of the payload; more than `size` when it was cut */
	struct iocx_pva_header header;
};

/* How many bytes of the payload must be in the window before the message is read. */
IOCX_CA_INLINE __u32 iocx_pva_needed(__u32 direction, const struct iocx_pva_header *h)
{
	__u32 kept = iocx_pva_shortest(direction, h->command);

	if (direction == IOCX_CA_TO_SERVER && h->command == IOCX_PVA_CMD_CONNECTION_VALIDATION)
		kept = IOCX_PVA_IDENTITY;
	else if (direction == IOCX_CA_TO_CLIENT && kept == 6)
		kept = 5 + IOCX_PVA_TEXT;
	return h->size < kept ? h->size : kept;
}

/* The answer to a request, of which `size` bytes are in the window; `p`: its payload. */
IOCX_CA_INLINE void iocx_pva_read_answer(struct iocx_pva_event *e, const __u8 *p, __u32 size)
{
	e->other = iocx_pva_u32(p, e->big);
	e->command = e->header.command;
	e->sub = p[4];
	if (e->command == IOCX_PVA_CMD_MONITOR && !(e->sub & IOCX_PVA_SUB_INIT)) {
		e->kind = IOCX_PVA_UPDATE;
		return;
	}
	e->kind = e->sub & IOCX_PVA_SUB_INIT ? IOCX_PVA_INITED : IOCX_PVA_ANSWER;
	e->status = size > 5 ? p[5] : IOCX_PVA_STATUS_OK_SHORT;
	e->at += 5;
	e->size = size > 5 ? size - 5 : 0;
}

IOCX_CA_INLINE void iocx_pva_read_to_client(struct iocx_pva_event *e, const __u8 *p, __u32 size)
{
	if (iocx_pva_is_request(e->header.command)) {
		iocx_pva_read_answer(e, p, size);
		return;
	}
	switch (e->header.command) {
	case IOCX_PVA_CMD_CONNECTION_VALIDATION:
		e->kind = IOCX_PVA_OFFER;
		return;
	case IOCX_PVA_CMD_CONNECTION_VALIDATED:
		e->kind = IOCX_PVA_VALIDATED;
		e->status = p[0];
		return;
	case IOCX_PVA_CMD_CREATE_CHANNEL:
		e->kind = IOCX_PVA_CREATED;
		e->status = p[8];
		break;
	case IOCX_PVA_CMD_DESTROY_CHANNEL:
		e->kind = IOCX_PVA_DESTROY;
		break;
	default:
		return;
	}
	e->id = iocx_pva_u32(p, e->big);
	e->other = iocx_pva_u32(p + 4, e->big);
}

#endif
