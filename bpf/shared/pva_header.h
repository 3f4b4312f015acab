/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * PV Access message headers, ids and statuses: reading them, and telling whether bytes can be a header. Pure C without
 * I/O that clang -target bpf and g++ both compile.
 *
 * "Protocol messages specification" of epics-docs: a message is a header of 8 bytes and a payload without padding. Bit 7
 * of the flags is the byte order of the message. pvxs goes by it alone; pvAccessCPP only by SET_BYTE_ORDER: to it, a
 * message in another order has another size.
 *
 * A wrong magic byte and version 0 end the circuit: what was sent behind such a header is never read. So does the server's
 * direction bit from a client with pvxs (ConnBase::bevRead()), but not with pvAccessCPP.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_PVA_HEADER_H
#define IOC_EXPORTER_BPF_SHARED_PVA_HEADER_H

#include "shared/ca_stream.h"

/* Application messages over TCP. */
#define IOCX_PVA_CMD_CONNECTION_VALIDATION 0x01
#define IOCX_PVA_CMD_ECHO 0x02
#define IOCX_PVA_CMD_SEARCH 0x03
#define IOCX_PVA_CMD_CREATE_CHANNEL 0x07
#define IOCX_PVA_CMD_DESTROY_CHANNEL 0x08
#define IOCX_PVA_CMD_CONNECTION_VALIDATED 0x09
#define IOCX_PVA_CMD_GET 0x0A
#define IOCX_PVA_CMD_PUT 0x0B
#define IOCX_PVA_CMD_PUT_GET 0x0C
#define IOCX_PVA_CMD_MONITOR 0x0D
#define IOCX_PVA_CMD_ARRAY 0x0E
#define IOCX_PVA_CMD_DESTROY_REQUEST 0x0F
#define IOCX_PVA_CMD_PROCESS 0x10
#define IOCX_PVA_CMD_GET_FIELD 0x11
#define IOCX_PVA_CMD_RPC 0x14
#define IOCX_PVA_CMD_LAST 0x16 /* ORIGIN_TAG */
/* The control message that a server sends first. */
#define IOCX_PVA_SET_BYTE_ORDER 0x02

#define IOCX_PVA_MAGIC 0xCAu
#define IOCX_PVA_HEADER 8u

/* Bits of the flags. */
#define IOCX_PVA_CONTROL 0x01u
#define IOCX_PVA_UNUSED 0x0Eu
#define IOCX_PVA_FIRST 0x10u     /* the first or a middle segment: another one follows */
#define IOCX_PVA_CONTINUED 0x20u /* the last or a middle segment */
#define IOCX_PVA_FROM_SERVER 0x40u
#define IOCX_PVA_BIG_ENDIAN 0x80u

/* Bits of a request's subcommand. */
#define IOCX_PVA_SUB_INIT 0x08u
#define IOCX_PVA_SUB_DESTROY 0x10u
#define IOCX_PVA_SUB_GET 0x40u     /* PUT, PUT_GET: a get of what was put, or would be got */
#define IOCX_PVA_SUB_GET_PUT 0x80u /* PUT_GET: the same */

/* Types of a status; OK_SHORT stands without the two strings that follow the others. */
#define IOCX_PVA_STATUS_WARNING 1u
#define IOCX_PVA_STATUS_OK_SHORT 0xFFu

struct iocx_pva_header {
	__u32 version;
	__u32 flags;
	__u32 command;
	__u32 size; /* of the payload; of a control message, which has none, a number */
};

#ifdef __cplusplus
IOCX_CA_INLINE __u32 iocx_pva_u16(const __u8 *p, __u32 big)
{
	return big ? iocx_ca_u16(p) : (__u32)((p[1] << 8) | p[0]);
}
IOCX_CA_INLINE __u32 iocx_pva_u32(const __u8 *p, __u32 big)
{
	return big ? iocx_ca_u32(p) : (iocx_pva_u16(p + 2, 0) << 16) | iocx_pva_u16(p, 0);
}
#else
/* The processors that BPF is compiled for here are little endian. */
IOCX_CA_INLINE __u32 iocx_pva_u16(const __u8 *p, __u32 big)
{
	return big ? iocx_ca_u16(p) : *(const __u16 *)p;
}
IOCX_CA_INLINE __u32 iocx_pva_u32(const __u8 *p, __u32 big)
{
	return big ? iocx_ca_u32(p) : *(const __u32 *)p;
}
#endif

IOCX_CA_INLINE void iocx_pva_read_header(const __u8 *p, struct iocx_pva_header *h)
{
	h->version = p[1];
	h->flags = p[2];
	h->command = p[3];
	h->size = iocx_pva_u32(p + 4, p[2] & IOCX_PVA_BIG_ENDIAN);
}

/* Whether a receiver takes the bytes at `p` for a header. */
IOCX_CA_INLINE int iocx_pva_may_be_header(const __u8 *p, __u32 direction)
{
	return p[0] == IOCX_PVA_MAGIC && p[1] != 0 && (direction == IOCX_CA_TO_SERVER || (p[2] & IOCX_PVA_FROM_SERVER));
}

/* Whether all receivers do. */
IOCX_CA_INLINE int iocx_pva_is_header(const __u8 *p, __u32 direction)
{
	return iocx_pva_may_be_header(p, direction) &&
	       (direction == IOCX_CA_TO_CLIENT || !(p[2] & IOCX_PVA_FROM_SERVER));
}

/* Whether the request is one of those that start with SID, IOID and subcommand, and are answered by IOID. */
IOCX_CA_INLINE int iocx_pva_is_request(__u32 command)
{
	return (command >= IOCX_PVA_CMD_GET && command <= IOCX_PVA_CMD_ARRAY) || command == IOCX_PVA_CMD_PROCESS ||
	       command == IOCX_PVA_CMD_RPC;
}

/* Whether a request with this subcommand carries what the server is to write: a put, by PUT, PUT_GET or RPC. */
IOCX_CA_INLINE int iocx_pva_is_put(__u32 command, __u32 sub)
{
	if (sub & IOCX_PVA_SUB_INIT)
		return 0;
	if (command == IOCX_PVA_CMD_PUT_GET)
		return !(sub & (IOCX_PVA_SUB_GET | IOCX_PVA_SUB_GET_PUT));
	return (command == IOCX_PVA_CMD_PUT && !(sub & IOCX_PVA_SUB_GET)) || command == IOCX_PVA_CMD_RPC;
}

IOCX_CA_INLINE int iocx_pva_is_ok(__u32 status)
{
	return status <= IOCX_PVA_STATUS_WARNING || status == IOCX_PVA_STATUS_OK_SHORT;
}

/* The shortest payload that has the fields which are read of the message. */
IOCX_CA_INLINE __u32 iocx_pva_shortest(__u32 direction, __u32 command)
{
	const int to_server = direction == IOCX_CA_TO_SERVER;

	if (iocx_pva_is_request(command))
		return to_server ? 9 : command == IOCX_PVA_CMD_MONITOR ? 5 : 6;
	switch (command) {
	case IOCX_PVA_CMD_CONNECTION_VALIDATION:
		return to_server ? 9 : 7;
	case IOCX_PVA_CMD_CREATE_CHANNEL:
		return to_server ? 2 : 9;
	case IOCX_PVA_CMD_DESTROY_CHANNEL:
	case IOCX_PVA_CMD_DESTROY_REQUEST:
		return 8;
	case IOCX_PVA_CMD_CONNECTION_VALIDATED:
		return to_server ? 0 : 1;
	default:
		return 0;
	}
}

/*
 * Whether a header can be one of a circuit after its first messages. Asked only while boundaries are unconfirmed. It is
 * strict, so that values do not pass for a header.
 */
IOCX_CA_INLINE int iocx_pva_plausible(const __u8 *p, __u32 direction)
{
	struct iocx_pva_header h;

	if (!iocx_pva_is_header(p, direction) || p[1] > 9 || (p[2] & IOCX_PVA_UNUSED) || p[3] > IOCX_PVA_CMD_LAST)
		return 0;
	iocx_pva_read_header(p, &h);
	if (h.flags & IOCX_PVA_CONTROL)
		return h.command <= 4;
	return h.size <= IOCX_CA_FAR &&
	       ((h.flags & IOCX_PVA_CONTINUED) || h.size >= iocx_pva_shortest(direction, h.command));
}

#endif
