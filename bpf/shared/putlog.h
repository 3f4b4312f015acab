/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The wire format of the put log: one event for each put, in a ring buffer that all programs share which see puts
 * (bpf/putlog/events.bpf.h), read by src/putlog/event_reader.cpp. Fixed-width types, padding as named fields.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_PUTLOG_H
#define IOC_EXPORTER_BPF_SHARED_PUTLOG_H

#include <linux/types.h>

#include "shared/ca_events.h"

/* Source of the put's event. */
enum iocx_putlog_source {
	IOCX_PUTLOG_CA_SERVER, /* bpf/puts/ca_server_probe.bpf.c */
	IOCX_PUTLOG_CA_TAP,    /* bpf/tap/tap.bpf.c */
	IOCX_PUTLOG_PVA,       /* bpf/puts/pva_server_probe.bpf.c */
	IOCX_PUTLOG_SOURCES
};

enum iocx_putlog_flag {
	IOCX_PUTLOG_HAS_CHOICE = 1,   /* the old value's text is there */
	IOCX_PUTLOG_IS_ARRAY = 2,     /* the field is one */
	IOCX_PUTLOG_HAS_RESULT = 4,   /* the server probe will report what became of the put */
	IOCX_PUTLOG_SENT_CHOICE = 16, /* the text of the choice that was sent as a number is there */
	/* Of a put or ENDED: a REFUSED of the same thread had no room, of one of its puts before */
	IOCX_PUTLOG_RESULT_LOST = 8,
	IOCX_PUTLOG_INSIDE = 64, /* of a client in the IOC itself: the value is in its byte order */
	IOCX_PUTLOG_STRAY = 32,  /* of a result: no channel has the SID, the slot is that of an earlier one */
	IOCX_PUTLOG_GROUP = 128, /* of PV Access: to a group, whose members are reported by their names */
};

/* iocx_putlog_event.op. Those from REFUSED on are of IOCX_PUTLOG_CA_SERVER, DONE of _PVA, too, VALUE of that only. */
enum iocx_putlog_op {
	IOCX_PUTLOG_WRITE,
	IOCX_PUTLOG_WRITE_NOTIFY,
	IOCX_PUTLOG_ANSWER,  /* by packets, to a WRITE_NOTIFY: `id` is when that was sent, `count` the status */
	IOCX_PUTLOG_REFUSED, /* the last put of the thread, `count`: enum iocx_put_failure */
	IOCX_PUTLOG_ENDED,   /* all puts of the thread have ended; WRITEs that were not refused are good */
	IOCX_PUTLOG_DONE,    /* the WRITE_NOTIFY of `slot` at the time `id`; `count`: as above, IOCX_FAILURES: good */
	IOCX_PUTLOG_VALUE,   /* a field that the put of `slot` at the time `id` writes */
};

/* Of DONE of PV Access, in `type`. */
enum iocx_putlog_option {
	IOCX_PUTLOG_BLOCK = 1,      /* the client waits until the record has processed */
	IOCX_PUTLOG_PROCESS = 2,    /* it asked to process the record */
	IOCX_PUTLOG_NO_PROCESS = 4, /* it asked not to */
	IOCX_PUTLOG_VALUES = 8,     /* all fields that were written have been reported */
};
/* The name of a field with its zero byte, behind the two rooms of a VALUE. */
#define IOCX_PUTLOG_FIELD 96u
/* iocx_putlog_event.type: the put came in several pieces, and what it holds is not known. */
#define IOCX_PUTLOG_NO_TYPE 0xFFFF

/* Types of puts that have a value: those of DBR_STRING to DBR_CTRL_DOUBLE, DBR_PUT_ACKT and DBR_PUT_ACKS (db_access.h). */
#define IOCX_DBR_TYPES 37u

/* Where the value of such a type begins in what travels, as dbr_value_offset[] says. */
static inline __attribute__((always_inline)) __u32 iocx_dbr_value_at(__u32 type)
{
	/* STRING, SHORT, FLOAT, ENUM, CHAR, LONG, DOUBLE: plain, STS, TIME, GR, CTRL */
	static const __u16 at[] = {0,  0,  0,  0, 0,  0,  0,   4,  4,  4,  4, 5,  4,  8,   12, 14, 12, 14,
				   15, 12, 16, 4, 24, 40, 422, 19, 36, 64, 4, 28, 48, 422, 21, 44, 80};

	return type < IOCX_DBR_PUT_ACKT ? at[type] : 0;
}

#define IOCX_DBR_STRING 0u
#define IOCX_DBR_FLOAT 2u
#define IOCX_DBR_ENUM 3u
#define IOCX_DBR_DOUBLE 6u

/* The plain type of its elements. */
static inline __attribute__((always_inline)) __u32 iocx_dbr_plain(__u32 type)
{
	return type < IOCX_DBR_PUT_ACKT ? type % 7 : IOCX_DBR_ENUM;
}

/* The size of each, as dbr_value_size[] says; a byte for each plain type. */
static inline __attribute__((always_inline)) __u32 iocx_dbr_value_size(__u32 type)
{
	return type < IOCX_DBR_TYPES ? (__u32)(0x0008040102040228ULL >> (8 * iocx_dbr_plain(type))) & 0xFF : 0;
}

/* The size of an element of a type of the database, DBF_STRING to DBF_ENUM, where that has the number `enum_type`. */
static inline __attribute__((always_inline)) __u32 iocx_dbf_size(__u32 type, __u32 enum_type)
{
	/* STRING, CHAR, UCHAR, SHORT, USHORT, LONG, ULONG, INT64, UINT64, FLOAT, DOUBLE, ENUM */
	static const __u8 sizes[] = {40, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 2};

	if (type > 6) /* INT64 and UINT64 are since Base 3.16 */
		type += 11 - enum_type;
	return type < sizeof sizes ? sizes[type] : 0;
}

/* Bytes of a value, and of an old one, that each event has room for; longer ones take a larger event. */
#define IOCX_PUTLOG_SMALL 64u
#define IOCX_PUTLOG_MOST_BYTES 16384u
/* Where the text of a choice (enum, menu, device) stands in its room, after the number. */
#define IOCX_PUTLOG_CHOICE 8u
#define IOCX_PUTLOG_CHOICE_SIZE 41u

/* Why an event is lost. */
enum iocx_putlog_loss {
	IOCX_PUTLOG_NO_ROOM,  /* the ring is full */
	IOCX_PUTLOG_NO_SHARE, /* it is nearly so, and most is of this client: shared/ring_shares.h */
	IOCX_PUTLOG_LOSSES
};

/*
 * Places in putlog_shares, of clients at an IOC. Two that have the same by chance are reckoned as one: of a ring that is
 * nearly full, they get less than they might.
 */
#define IOCX_PUTLOG_PLACE_BITS 12
#define IOCX_PUTLOG_PLACES (1u << IOCX_PUTLOG_PLACE_BITS)

/* MurmurHash3's last step. */
static inline __attribute__((always_inline)) __u64 iocx_putlog_mix(__u64 value)
{
	value = (value ^ value >> 33) * 0xFF51AFD7ED558CCDULL;
	value = (value ^ value >> 33) * 0xC4CEB9FE1A85EC53ULL;
	return value ^ value >> 33;
}

/*
 * `ioc`: as the source (enum iocx_putlog_source) calls it. `seed`: drawn at each start, since a client chooses its port,
 * and might choose another's place.
 */
static inline __attribute__((always_inline)) __u32 iocx_putlog_place(__u64 seed, __u32 source, __u32 ioc, __u64 client)
{
	const __u64 whose = iocx_putlog_mix(seed ^ ((__u64)ioc << 8 | (source + 1)));

	return (__u32)(iocx_putlog_mix(whose ^ client) >> (64 - IOCX_PUTLOG_PLACE_BITS));
}

struct iocx_putlog_event {
	__u64 time; /* CLOCK_MONOTONIC */
	__u64 lost; /* events of the same source that had no room, until now */
	/* Client and PV: the slot, and its id, in the maps of the source; id 0: none. */
	__u64 id;
	__u64 number; /* IOCX_PUTLOG_CA_SERVER: of the put, among those of its slot by its operation */
	__u32 slot;
	__u32 generation; /* of the IOC, as the source calls it; IOCX_PUTLOG_CA_TAP: its number */
	__u32 sid;
	__u32 ioid;
	__u32 count;       /* elements that were sent */
	__u32 sent_bytes;  /* of the payload */
	__u32 value_bytes; /* of its elements that are here, as they travelled, at bytes[0]; _CA_TAP: of the payload */
	__u32 old_count;   /* elements of the field */
	__u32 old_bytes;   /* of them that are here, as the IOC has them, at bytes[room] */
	__u32 room;
	__u16 type;       /* DBR type; of a VALUE as this IOC's database numbers them */
	__s16 field_type; /* DBF type, as this IOC numbers them */
	__u16 field_size; /* of one element; 0: the old value is not known */
	__u8 enum_type;   /* DBF_ENUM of this IOC, which tells the numbers of other types; 0: not known */
	__u8 flags;       /* enum iocx_putlog_flag */
	__u8 source;      /* enum iocx_putlog_source */
	__u8 op;          /* enum iocx_putlog_op */
	__u8 address[4];  /* of the client; IOCX_PUTLOG_CA_SERVER only */
	__u16 port;
	__u32 place; /* iocx_putlog_place() */
	__u32 tid;   /* IOCX_PUTLOG_CA_SERVER: thread that serves the client */
	__u32 most;  /* elements that the field has room for; 0: not known */
	__u32 pad;
#ifndef __cplusplus /* which has no such arrays: they follow */
	__u8 bytes[];
#endif
};

#endif
