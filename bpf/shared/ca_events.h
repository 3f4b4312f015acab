/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Meaning of messages of Channel Access over TCP for the exporter: events, and their commands. Pure C
 * without I/O that clang -target bpf and g++ both compile.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_CA_EVENTS_H
#define IOC_EXPORTER_BPF_SHARED_CA_EVENTS_H

#include "shared/ca_header.h"

#define IOCX_CA_NAME 232u    /* bytes kept of a PV name, terminator included */
#define IOCX_CA_IDENTITY 64u /* bytes kept of the name of a user or host, terminator included */
#define IOCX_CA_CARRY 256u   /* a long header and a name: they are read in one piece */

#define IOCX_DBR_PUT_ACKT 35u
#define IOCX_DBR_PUT_ACKS 36u

/* Whether a put of that type acknowledges an alarm: it writes no field. */
static inline __attribute__((always_inline)) __u32 iocx_dbr_acknowledges(__u32 type)
{
	return type == IOCX_DBR_PUT_ACKT || type == IOCX_DBR_PUT_ACKS;
}

enum iocx_ca_event_kind {
	IOCX_CA_NOTHING,
	/* The last byte of a WRITE or WRITE_NOTIFY arrived: id = SID, other = IOID, notify, acknowledges. */
	IOCX_CA_PUT,
	/* These three are only counted. */
	IOCX_CA_GET,         /* READ, READ_NOTIFY */
	IOCX_CA_ECHO,        /* to server */
	IOCX_CA_UPDATE,      /* to client: a monitor's value */
	IOCX_CA_CREATE,      /* to server: id = CID, the payload starts with the name */
	IOCX_CA_CREATED,     /* to client: id = CID, other = SID, count in the header = elements of the channel */
	IOCX_CA_FAILED,      /* CREATE_CH_FAIL: id = CID */
	IOCX_CA_CLEAR,       /* to server: id = SID, other = CID */
	IOCX_CA_CLEAR_DONE,  /* to client, its answer: id = SID, other = CID */
	IOCX_CA_DISCONNECT,  /* SERVER_DISCONN: id = CID */
	IOCX_CA_USER,        /* CLIENT_NAME: the payload starts with it */
	IOCX_CA_HOST,        /* HOST_NAME: the payload starts with it */
	IOCX_CA_RIGHTS,      /* ACCESS_RIGHTS: id = CID, other = bits */
	IOCX_CA_SUBSCRIBE,   /* EVENT_ADD to server: id = SID, other = subscription */
	IOCX_CA_UNSUBSCRIBE, /* EVENT_CANCEL: id = SID, other = subscription */
	IOCX_CA_PAUSE,       /* EVENTS_OFF: the client wants no updates for now */
	IOCX_CA_RESUME,      /* EVENTS_ON */
	IOCX_CA_WRITTEN,     /* WRITE_NOTIFY to client: id = status, other = IOID */
	IOCX_CA_ERROR,       /* other = status; iocx_ca_read_error() says what failed */
	IOCX_CA_NOT_CA,      /* the client's first message, which comes next, is not VERSION */
	IOCX_CA_REFUSED_ALL, /* a message at which the server closes the circuit: it reads nothing behind it */
	/*
	 * A message before boundaries are proved, for iocx_ca_judge(): id, as `size` (enum iocx_ca_names) says; notify = it
	 * is answered by other = IOID.
	 */
	IOCX_CA_DOUBTED,
};

/* In place of an offset: the put's header came in an earlier segment, and is not at hand. */
#define IOCX_CA_FINISHED 0xFFFFFFFFu

struct iocx_ca_event {
	__u32 kind;
	__u32 id;
	__u32 other;
	__u32 notify;
	__u32 acknowledges; /* a WRITE that acknowledges an alarm: it is counted nowhere. A WRITE_NOTIFY processes the record */
	/* Offset of the payload in window.bytes, at most REACH - 1 + LONG_HEADER. IOCX_CA_FINISHED: of a put. */
	__u32 at;
	__u32 size; /* payload bytes there: at most NAME, IDENTITY, or HEADER for ERROR */
	/* Of IOCX_CA_ERROR, set by iocx_ca_read_error(). */
	__u32 failed; /* the request's command */
	__u32 ioid;   /* its parameter 2 */
};

IOCX_CA_INLINE int iocx_ca_is_put(__u32 direction, const struct iocx_ca_header *h)
{
	return direction == IOCX_CA_TO_SERVER &&
	       (h->command == IOCX_CA_CMD_WRITE || h->command == IOCX_CA_CMD_WRITE_NOTIFY);
}

/* How many bytes of the payload must be in the window before the message is read. */
IOCX_CA_INLINE __u32 iocx_ca_needed(__u32 direction, const struct iocx_ca_header *h)
{
	__u32 kept = 0;

	if (direction != IOCX_CA_TO_SERVER) {
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

/* The event of a message that is no put. */
IOCX_CA_INLINE __u32 iocx_ca_event_of(__u32 direction, const struct iocx_ca_header *h)
{
	return direction == IOCX_CA_TO_SERVER ? iocx_ca_event_to_server(h->command)
					      : iocx_ca_event_to_client(h->command, h->size);
}

/*
 * Reads which request an ERROR answers. The payload, of which 16 bytes are at `payload`, starts with the header of
 * that request. The fields read here stand at the same place in a long header (vsend_err() of rsrv).
 */
IOCX_CA_INLINE void iocx_ca_read_error(struct iocx_ca_event *e, const __u8 *payload)
{
	e->failed = iocx_ca_u16(payload);
	e->acknowledges = e->failed == IOCX_CA_CMD_WRITE && iocx_dbr_acknowledges(iocx_ca_u16(payload + 4));
	e->id = iocx_ca_u32(payload + 8);
	e->ioid = iocx_ca_u32(payload + 12);
}

#endif
