/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Channel Access message headers: reading one, and telling whether bytes can be one. Pure C without I/O that clang
 * -target bpf and g++ both compile.
 *
 * "Channel Access Protocol Specification", chapter "Message structure": a message is a header of 16
 * bytes, big endian, or of 24 when payload size is 0xFFFF and count 0, and a payload padded to 8 bytes.
 *
 * As camessage() of rsrv has it, a header is long when the payload size is 0xFFFF, whatever the count; and a length that
 * is no multiple of 8, or a command that clients do not have, ends the circuit: what was sent behind such a message is
 * never read.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_CA_HEADER_H
#define IOC_EXPORTER_BPF_SHARED_CA_HEADER_H

#include <linux/types.h>

#include "shared/verifier.h"

#ifdef __cplusplus
#include <cstring>
#endif

#define IOCX_CA_INLINE static inline __attribute__((always_inline))

/* Commands of CA over TCP (caProto.h of EPICS Base). */
#define IOCX_CA_CMD_VERSION 0
#define IOCX_CA_CMD_EVENT_ADD 1
#define IOCX_CA_CMD_EVENT_CANCEL 2
#define IOCX_CA_CMD_READ 3
#define IOCX_CA_CMD_WRITE 4
#define IOCX_CA_CMD_SEARCH 6
#define IOCX_CA_CMD_EVENTS_OFF 8
#define IOCX_CA_CMD_EVENTS_ON 9
#define IOCX_CA_CMD_READ_SYNC 10
#define IOCX_CA_CMD_ERROR 11
#define IOCX_CA_CMD_CLEAR_CHANNEL 12
#define IOCX_CA_CMD_NOT_FOUND 14
#define IOCX_CA_CMD_READ_NOTIFY 15
#define IOCX_CA_CMD_CREATE_CHAN 18
#define IOCX_CA_CMD_WRITE_NOTIFY 19
#define IOCX_CA_CMD_CLIENT_NAME 20
#define IOCX_CA_CMD_HOST_NAME 21
#define IOCX_CA_CMD_ACCESS_RIGHTS 22
#define IOCX_CA_CMD_ECHO 23
#define IOCX_CA_CMD_CREATE_CH_FAIL 26
#define IOCX_CA_CMD_SERVER_DISCONN 27

#define IOCX_CA_HEADER 16u
#define IOCX_CA_LONG_HEADER 24u

#define IOCX_CA_TO_SERVER 0u
#define IOCX_CA_TO_CLIENT 1u

struct iocx_ca_header {
	__u32 command;
	__u32 type;
	__u32 size; /* of the payload */
	__u32 count;
	__u32 parameter1;
	__u32 parameter2;
	__u32 length; /* of the header itself */
};

#ifdef __cplusplus
IOCX_CA_INLINE __u32 iocx_ca_u16(const __u8 *p)
{
	return (__u32)((p[0] << 8) | p[1]);
}
IOCX_CA_INLINE __u32 iocx_ca_u32(const __u8 *p)
{
	return (iocx_ca_u16(p) << 16) | iocx_ca_u16(p + 2);
}
IOCX_CA_INLINE void iocx_ca_copy(__u8 *to, const __u8 *from, __u32 size)
{
	std::memcpy(to, from, size);
}
#else
/* Loads of whole words: BPF allows them at any address on the processors that it is compiled for. */
IOCX_CA_INLINE __u32 iocx_ca_u16(const __u8 *p)
{
	return __builtin_bswap16(*(const __u16 *)p);
}
IOCX_CA_INLINE __u32 iocx_ca_u32(const __u8 *p)
{
	return __builtin_bswap32(*(const __u32 *)p);
}
/* `size` is a constant and a multiple of 8. */
IOCX_CA_INLINE void iocx_ca_copy(__u8 *to, const __u8 *from, __u32 size)
{
	/* Opaque to clang: else it keeps every word, or every word's address, on the stack. */
	asm volatile("" : "+r"(to), "+r"(from));
#pragma unroll
	for (__u32 i = 0; i < size / 8; i++) {
		((__u64 *)to)[i] = ((const __u64 *)from)[i];
		asm volatile("" ::: "memory");
	}
}
#endif

/* Whether a put of `count` elements of DBR type `type` has this payload (padded); db_access.h. */
IOCX_CA_INLINE int iocx_ca_put_fits(__u32 type, __u32 count, __u32 size)
{
	/* Bytes of an element, a nibble a type: short, float, enum, char, long, double; strings come first. */
	__u64 bytes;

	if (count == 0)
		return 0;
	if (type == 0) {
		/* libca sends one string with its own length, several with 40 bytes each. */
		if (count == 1)
			return size >= 8 && size <= 40;
		return (__u64)count * 40 == size;
	}
	if (type > 6 && type != 35 && type != 36)
		return 0;
	bytes = (__u64)count * (type > 6 ? 2 : (0x8412420u >> (type * 4)) & 15);
	return ((bytes + 7) & ~7ULL) == size;
}

#define IOCX_CA_BIT(command) (1u << (command))
/* Commands that a client sends after its first message, and those of them that carry a name. */
#define IOCX_CA_FROM_CLIENT                                                                                           \
	(IOCX_CA_BIT(IOCX_CA_CMD_EVENT_ADD) | IOCX_CA_BIT(IOCX_CA_CMD_EVENT_CANCEL) | IOCX_CA_BIT(IOCX_CA_CMD_READ) | \
	 IOCX_CA_BIT(IOCX_CA_CMD_WRITE) | IOCX_CA_BIT(IOCX_CA_CMD_SEARCH) | IOCX_CA_BIT(IOCX_CA_CMD_EVENTS_OFF) |     \
	 IOCX_CA_BIT(IOCX_CA_CMD_EVENTS_ON) | IOCX_CA_BIT(IOCX_CA_CMD_READ_SYNC) |                                    \
	 IOCX_CA_BIT(IOCX_CA_CMD_CLEAR_CHANNEL) | IOCX_CA_BIT(IOCX_CA_CMD_READ_NOTIFY) |                              \
	 IOCX_CA_BIT(IOCX_CA_CMD_CREATE_CHAN) | IOCX_CA_BIT(IOCX_CA_CMD_WRITE_NOTIFY) |                               \
	 IOCX_CA_BIT(IOCX_CA_CMD_CLIENT_NAME) | IOCX_CA_BIT(IOCX_CA_CMD_HOST_NAME) | IOCX_CA_BIT(IOCX_CA_CMD_ECHO))
#define IOCX_CA_FROM_CLIENT_NAMED                                                 \
	(IOCX_CA_BIT(IOCX_CA_CMD_SEARCH) | IOCX_CA_BIT(IOCX_CA_CMD_CREATE_CHAN) | \
	 IOCX_CA_BIT(IOCX_CA_CMD_CLIENT_NAME) | IOCX_CA_BIT(IOCX_CA_CMD_HOST_NAME))
/* Commands that a server sends, and those of them that carry values, of any padded size. */
#define IOCX_CA_FROM_SERVER_SIZED \
	(IOCX_CA_BIT(IOCX_CA_CMD_EVENT_ADD) | IOCX_CA_BIT(IOCX_CA_CMD_READ) | IOCX_CA_BIT(IOCX_CA_CMD_READ_NOTIFY))
#define IOCX_CA_FROM_SERVER                                                                                 \
	(IOCX_CA_FROM_SERVER_SIZED | IOCX_CA_BIT(IOCX_CA_CMD_SEARCH) | IOCX_CA_BIT(IOCX_CA_CMD_READ_SYNC) | \
	 IOCX_CA_BIT(IOCX_CA_CMD_ERROR) | IOCX_CA_BIT(IOCX_CA_CMD_CLEAR_CHANNEL) |                          \
	 IOCX_CA_BIT(IOCX_CA_CMD_NOT_FOUND) | IOCX_CA_BIT(IOCX_CA_CMD_CREATE_CHAN) |                        \
	 IOCX_CA_BIT(IOCX_CA_CMD_WRITE_NOTIFY) | IOCX_CA_BIT(IOCX_CA_CMD_ACCESS_RIGHTS) |                   \
	 IOCX_CA_BIT(IOCX_CA_CMD_ECHO) | IOCX_CA_BIT(IOCX_CA_CMD_CREATE_CH_FAIL) |                          \
	 IOCX_CA_BIT(IOCX_CA_CMD_SERVER_DISCONN))
/* Commands that rsrv handles over TCP (tcpJumpTable). */
#define IOCX_CA_HANDLED (IOCX_CA_FROM_CLIENT | IOCX_CA_BIT(IOCX_CA_CMD_VERSION))
#define IOCX_CA_LARGEST_DBR_TYPE 38u
#define IOCX_CA_LONGEST_TEXT 1024u

/*
 * Whether a header can be one of a circuit after its first message. Asked only while boundaries are unconfirmed. It
 * is strict, so that values do not pass for a header: VERSION is refused, since zeros would pass for it.
 */
IOCX_CA_INLINE int iocx_ca_plausible(__u32 direction, const struct iocx_ca_header *h)
{
	__u32 bit;

	if (h->command > IOCX_CA_CMD_SERVER_DISCONN || h->size % 8 != 0)
		return 0;
	bit = 1u << h->command;
	if (direction == IOCX_CA_TO_SERVER) {
		if (!(bit & IOCX_CA_FROM_CLIENT))
			return 0;
		if (bit & (IOCX_CA_BIT(IOCX_CA_CMD_WRITE) | IOCX_CA_BIT(IOCX_CA_CMD_WRITE_NOTIFY)))
			return iocx_ca_put_fits(h->type, h->count, h->size);
		if (bit & IOCX_CA_FROM_CLIENT_NAMED)
			return h->size >= 8 && h->size <= IOCX_CA_LONGEST_TEXT;
		if (h->command == IOCX_CA_CMD_EVENT_ADD)
			return h->size == 16 && h->type <= IOCX_CA_LARGEST_DBR_TYPE;
		return h->size == 0 && h->type <= IOCX_CA_LARGEST_DBR_TYPE;
	}
	if (!(bit & IOCX_CA_FROM_SERVER) || h->type > IOCX_CA_LARGEST_DBR_TYPE)
		return h->command == IOCX_CA_CMD_SEARCH && h->size == 8; /* its type is a port */
	if (bit & IOCX_CA_FROM_SERVER_SIZED)
		return h->size != 0 || h->command == IOCX_CA_CMD_EVENT_ADD;
	if (h->command == IOCX_CA_CMD_ERROR)
		return h->size >= 16 && h->size <= IOCX_CA_LONGEST_TEXT;
	return h->size == 0;
}

/* Whether the header at `p` is of the long form, 24 bytes. */
IOCX_CA_INLINE int iocx_ca_is_long(const __u8 *p)
{
	return iocx_ca_u16(p + 2) == 0xFFFF;
}

IOCX_CA_INLINE void iocx_ca_read_header(const __u8 *p, struct iocx_ca_header *h)
{
	h->command = iocx_ca_u16(p);
	h->size = iocx_ca_u16(p + 2);
	h->type = iocx_ca_u16(p + 4);
	h->count = iocx_ca_u16(p + 6);
	h->parameter1 = iocx_ca_u32(p + 8);
	h->parameter2 = iocx_ca_u32(p + 12);
	h->length = IOCX_CA_HEADER;
	if (h->size == 0xFFFF) {
		h->size = iocx_ca_u32(p + 16);
		h->count = iocx_ca_u32(p + 20);
		h->length = IOCX_CA_LONG_HEADER;
	}
}

#endif
