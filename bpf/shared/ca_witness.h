/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The wire format between bpf/puts/ca_witness.bpf.c and src/ca/witness*.cpp. Fixed-width types, padding as named fields;
 * C++ asserts sizes and offsets.
 *
 * The puts to a client's channel are counted in a slot, with their results. The program takes slots and never frees
 * one; user space takes the key away first, and frees the slot some time later, so that no counter is freed while a
 * program still adds to it.
 *
 * So that nobody takes the slots that others need, each is held by the client of the IOC, by the IOC and by the user
 * who runs it: iocx_witness_may().
 */
#ifndef IOC_EXPORTER_BPF_SHARED_CA_WITNESS_H
#define IOC_EXPORTER_BPF_SHARED_CA_WITNESS_H

#include <linux/types.h>

#include "shared/ca_events.h"
#include "shared/histogram.h"
#include "shared/labelled_enum.h"
#include "shared/shares.h"

#ifdef __cplusplus
extern "C" {
#endif

/* IOCs that are witnessed at one time. */
#define IOCX_WITNESS_IOCS 1024

/* Value of witness_iocs, by process id. */
struct iocx_witness_ioc {
	__u64 bucket;     /* address of the variable pCaBucket in the IOC; 0: names are not read */
	__u32 generation; /* of this life of the IOC, never used twice */
	__u16 user;       /* who runs it: index into witness_shares */
	__u8 by_db_addr;  /* 1: channels are laid out as before Base 3.15.1 */
	__u8 enum_type;   /* DBF_ENUM of this Base, 0: not known. Only for the put log */
};

/*
 * Key of witness_slots: a channel, and whose it is. SIDs are not used twice in the life of an IOC; pointers are. A client
 * may write to the channel of another one: the server takes that for the owner's put, and so do we.
 */
struct iocx_witness_key {
	__u64 client; /* struct client * of the channel's owner; of the sender where the channel is not known */
	__u64 user;   /* its pUserName and pHostName: other pointers when the client tells another name */
	__u64 host;
	__u32 generation;
	__u32 sid;
	__u8 address[4]; /* of the client */
	__u16 port;      /* the same, host byte order */
	__u16 pad;
};

enum iocx_witness_state {
	IOCX_WITNESS_FREE, /* in witness_free, or being taken from or given back to it */
	IOCX_WITNESS_LIVE,
	IOCX_WITNESS_GIVEN_UP, /* set by user space: no new put finds it */
};

/* Element of witness_channels: a cache line that a put touches, and one that it reads. Mapped into user space. */
struct iocx_witness_channel {
	struct iocx_witness_key key;
	__u64 puts[2]; /* WRITE, WRITE_NOTIFY */
	/* When the last one was seen, as in iocx_ca_channel. */
	__u64 last_put;
	__u64 id;    /* another one each time the slot is taken; written before `state` */
	__u32 state; /* enum iocx_witness_state */
	/*
	 * 1: the channel was found, and its name in witness_info is complete. Set after it. As long as the server has the
	 * channel, the client keeps its name, its address and its memory, and no other channel gets its SID, so that client
	 * and SID tell whose a put is. Once it has gone, another one may get its memory, and name the SID: it is served by
	 * another thread.
	 */
	__u32 named;
	__u32 tid; /* of the IOC's thread that serves the client, as the last one with the key */
	/* Who holds it: indices into witness_shares. */
	__u32 client;
	__u32 ioc;
	__u32 user;
	/* For the put log, while it is on. Offsets in the record, 0: it has none: of its array's address and length, of its
	 * states' names. */
	__u16 data_at;
	__u16 length_at;
	__u16 states_at;
	__u8 states;
	__u8 by_db_addr; /* of the IOC */
	__u8 enum_type;  /* the same */
	__u8 pad[7];
	__u64 jiffy;       /* when `last_put` was written, as the kernel counts ticks */
	__u64 application; /* of the channel: struct channel_in_use *; 0: not known */
};

/*
 * Why puts failed: what the client was told, by its message number (caerr.h), or that it was told nothing. Index into
 * iocx_witness_result.failures.
 */
#define IOCX_PUT_FAILURE_LIST(ROW)  \
	ROW(NO_MEMORY, 6)           \
	ROW(TOO_LARGE, 9)           \
	ROW(BAD_TYPE, 14)           \
	ROW(INTERNAL_ERROR, 17)     \
	ROW(PUT_FAILED, 20)         \
	ROW(DEFUNCT, 34)            \
	ROW(CALLBACK_TIMED_OUT, 45) \
	ROW(NO_WRITE_ACCESS, 47)    \
	ROW(CANCELLED, 62)          \
	ROW(OTHER, 63) /* some other one */
enum iocx_put_failure {
#define IOCX_PUT_FAILURE_ROW(NAME, NUMBER) IOCX_FAILED_##NAME,
	IOCX_PUT_FAILURE_LIST(IOCX_PUT_FAILURE_ROW)
#undef IOCX_PUT_FAILURE_ROW
		IOCX_FAILURES
};

/* Element of witness_results, by slot: two cache lines that a good WRITE does not touch. Mapped into user space. */
struct iocx_witness_result {
	__u64 failures[IOCX_FAILURES];
	/* Of WRITE_NOTIFY, CLOCK_MONOTONIC. A channel has one that was started, and one that waits for its end. */
	__u64 asked_ns; /* the server was asked, and has not started it; 0: no */
	__u64 notify;   /* that was started: the IOC's address of its processNotify; 0: none */
	__u64 since_ns; /* when the server was asked for that one */
	__u64 ended_ns; /* it was cancelled then, unless it is done after all; 0: no */
	__u64 pad[2];
};

/* Value of witness_durations, by slot: of put-callbacks that are done. */
struct iocx_witness_durations {
	__u64 sum_ns;
	__u64 buckets[IOCX_PUT_HIST_SLOTS];
};

/*
 * Index into witness_shares, numbers of slots that are held: by all, by IOCs by their generation, by who runs them, and
 * by clients, which share buckets by a hash. Of the host's own clients each connection is one.
 */
#define IOCX_WITNESS_SHARE_ALL 0u
#define IOCX_WITNESS_SHARE_IOC 1u
#define IOCX_WITNESS_SHARE_USER (IOCX_WITNESS_SHARE_IOC + IOCX_WITNESS_IOCS)
#define IOCX_WITNESS_USER_BUCKETS 1024u
#define IOCX_WITNESS_SHARE_CLIENT (IOCX_WITNESS_SHARE_USER + IOCX_WITNESS_USER_BUCKETS)
#define IOCX_WITNESS_CLIENT_BUCKETS 4096u
#define IOCX_WITNESS_SHARES (IOCX_WITNESS_SHARE_CLIENT + IOCX_WITNESS_CLIENT_BUCKETS)

static inline __attribute__((always_inline)) __u32 iocx_witness_share_of_client(const struct iocx_witness_key *key)
{
	const __u8 *address = key->address;
	__u32 hash = (__u32)address[0] << 24 | (__u32)address[1] << 16 | (__u32)address[2] << 8 | address[3];

	hash = (hash ^ key->generation * 0x85EBCA6Bu) * 0x9E3779B1u;
	if (address[0] == 127)
		hash = (hash ^ key->port) * 0x9E3779B1u;
	return IOCX_WITNESS_SHARE_CLIENT + (hash >> 16) % IOCX_WITNESS_CLIENT_BUCKETS;
}

/* Whether there is one more of `room` slots, of which `all` are taken, for who holds so many. */
static inline __attribute__((always_inline)) int iocx_witness_may(__u32 room, __u32 all, __u32 user, __u32 ioc,
								  __u32 client)
{
	const __s32 left = (__s32)(room - all);

	return left > 0 && iocx_one_may(client, left, room / 2) && iocx_group_may(ioc, client, left, room / 2) &&
	       iocx_group_may(user, client, left, room / 2);
}

#define IOCX_WITNESS_FIELD 32

/* Element of witness_info, by slot. Texts end in a zero byte. */
struct iocx_witness_info {
	struct iocx_witness_key key;
	char user[IOCX_CA_IDENTITY];
	char host[IOCX_CA_IDENTITY];
	char name[IOCX_CA_NAME]; /* as the client asked for it; with by_db_addr the record's */
	/* With by_db_addr: the field's name, and the types that tell a long string (dbAddr, dbFldDes). */
	char field[IOCX_WITNESS_FIELD];
	__s32 description_type;
	__s16 field_type;
	__s16 dbr_field_type;
};

/* Value of witness_rest, by generation: puts of an IOC that have no slot. */
struct iocx_witness_rest {
	__u64 puts[2];
	__u64 last_put;
	__u64 failures[IOCX_FAILURES];
};

/* Index into the per-CPU array witness_drops. */
#define IOCX_WITNESS_DROP_LIST(ROW)                                                \
	/* puts that are counted for their IOC only: no room for who wrote what */ \
	ROW(IOCX_WITNESS_DROP_FULL, "server_probe_full", LOST)                     \
	/* the same: the IOC's memory did not say who wrote */                     \
	ROW(IOCX_WITNESS_DROP_UNREADABLE, "server_probe_unreadable", LOST)         \
	/* put-callbacks whose result was not seen */                              \
	ROW(IOCX_WITNESS_DROP_RESULT, "result_not_seen", LOST)                     \
	/* put-callbacks whose duration has no room */                             \
	ROW(IOCX_WITNESS_DROP_DURATION, "duration_no_room", LOST)
IOCX_DROP_ENUM(iocx_witness_drop, IOCX_WITNESS_DROP_LIST, IOCX_WITNESS_DROPS)

#ifdef __cplusplus
}
#endif

#endif
