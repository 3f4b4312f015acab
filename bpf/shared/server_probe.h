/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The wire format between the server probes (bpf/puts) and src/puts/server_probe. Fixed-width types,
 * padding as named fields; C++ asserts sizes and offsets.
 *
 * The puts of one client to one PV are counted in a slot, with their results. The program takes slots and never frees
 * one; user space takes the key away first, and frees the slot some time later, so that no counter is freed while a
 * program still adds to it.
 *
 * Each slot is held by the IOC and by the client of the IOC, which have a cap each: iocx_server_may().
 */
#ifndef IOC_EXPORTER_BPF_SHARED_SERVER_PROBE_H
#define IOC_EXPORTER_BPF_SHARED_SERVER_PROBE_H

#include <linux/types.h>

#include "shared/ca_events.h"
#include "shared/histogram.h"
#include "shared/labelled_enum.h"
#include "shared/caps.h"

#ifdef __cplusplus
extern "C" {
#endif

/* IOCs that are probed at one time. */
#define IOCX_SERVER_IOCS 1024

/* Value of server_iocs, by process id. */
struct iocx_server_ioc {
	__u64 bucket;          /* CA: address of the variable pCaBucket in the IOC; 0: names are not read */
	__u32 generation;      /* of this life of the IOC, never used twice */
	__u8 by_db_addr;       /* CA, 1: channels are laid out as before Base 3.15.1 */
	__u8 enum_type;        /* DBF_ENUM of this Base, 0: not known. Only for the put log */
	__u8 attach;           /* IOCX_ATTACH_*: which programs count */
	__u8 switches;         /* how often one kind of attachment has replaced the other, which is off by now */
	__u32 reports_results; /* 1: the functions that report what becomes of a put are probed */
	__u32 reports_values;  /* PV Access, 1: so is the function that writes to the database */
};

/* Part of a key that the put log and traces use to name the client. PV Access has the generation only. */
struct iocx_server_who {
	__u32 generation;
	__u32 sid;
	__u8 address[4]; /* of the client */
	__u16 port;      /* the same, host byte order */
	__u16 names;     /* from its user's and its host's */
};

/*
 * Key of the slots of CA: a channel, and who writes to it. SIDs are not used twice in the life of an IOC; pointers are. A
 * client may write to the channel of another one, whose rights the server checks then: the put is the sender's.
 */
struct iocx_ca_server_key {
	__u64 client; /* struct client * of the sender */
	__u64 user;   /* its pUserName and pHostName: when the client gives another name, these or who.names change */
	__u64 host;
	struct iocx_server_who who;
};

#define IOCX_PVA_NAME 152
#define IOCX_PVA_USER 64
#define IOCX_PVA_METHOD 16
#define IOCX_PVA_PEER 56

/*
 * The same of PV Access: what the server calls PV and client. Its objects are freed and their addresses used again, so
 * that none of them is a key. Texts end in a zero byte, and zero bytes follow.
 */
struct iocx_pva_key {
	__u32 generation;
	__u32 pad;
	char name[IOCX_PVA_NAME];     /* as the client asked for it: of a record's field, or of a group */
	char user[IOCX_PVA_USER];     /* as the client says */
	char method[IOCX_PVA_METHOD]; /* how, as QSRV 2 knows: "ca", "anonymous"; QSRV 1 has it in `user` */
	char peer[IOCX_PVA_PEER];     /* address, of QSRV 2 without the port */
};

/*
 * Where a record has what belongs to a field's value: offsets in the record, 0: it has none, of its array's address and
 * length, and of its states' names. For the put log.
 */
struct iocx_field_layout {
	__u16 data_at;
	__u16 length_at;
	__u16 states_at;
	__u8 states;
	__u8 enum_type; /* of the IOC */
};

/* Key of the layouts that PV Access has found: a field of a record type of an IOC. */
struct iocx_field_key {
	__u64 description; /* the IOC's address of its dbFldDes */
	__u32 generation;
	__u32 is_array; /* of several elements */
};

/* In a slot's `searches`: the server has refused its put, since it has no such channel. The slot has no key any more. */
#define IOCX_SERVER_NOWHERE 0xFF

enum iocx_server_slot_state {
	IOCX_SLOT_FREE, /* in free_slots, or being taken from or given back to it */
	IOCX_SLOT_LIVE,
	IOCX_SLOT_GIVEN_UP, /* set by user space: no new put finds it */
};

/*
 * Element of server_slots. A put by CA touches its first 64 bytes, one cache line, and nothing else of it. Mapped into
 * user space.
 */
struct iocx_server_slot {
	__u64 puts[2]; /* CA: WRITE, WRITE_NOTIFY; PV Access: all, none */
	/* When the last one was seen, as in iocx_ca_channel. */
	__u64 last_put;
	__u64 jiffy;  /* when `last_put` was written, as the kernel counts ticks */
	__u64 client; /* of the CA key: the sender */
	struct iocx_server_who who;
	__u32 state; /* enum iocx_server_slot_state */
	/*
	 * CA: the IOC's thread that serves the client, as the last one with the key; 0: not `named`. As long as the server
	 * has the channel, the client keeps its name, its address and its memory, and no other channel gets its SID: client
	 * and SID identify the owner of a put. Later another client may get its memory and the SID: another thread serves
	 * that client.
	 */
	__u32 tid;
	__u64 id; /* another one each time the slot is taken; written before `state` */
	/* CA, of the channel: struct channel_in_use *; 0: not known */
	__u64 application;
	/* CA, 1: the channel was found, and its name in slot_info is complete. Set after it. */
	__u32 named;
	/* Holders of the entry: indices into slots_held. */
	__u32 holder_client;
	__u32 holder_ioc;
	__u32 pad2;
	struct iocx_field_layout field; /* CA, for the put log, while it is on */
	__u8 by_db_addr;                /* of the IOC */
	__u8 reports_results;           /* the same */
	__u8 searches;                  /* CA, for the channel, that have failed; or IOCX_SERVER_NOWHERE */
	__u8 inside; /* CA, 1: of a client in the IOC itself, by no server: iocx_ca_server_info says more */
	__u8 guest;  /* CA, 1: the channel is another client's */
	__u8 pad[3];
	/*
	 * CA, of `puts`: came when the channel had gone, and its client may have had another name by then. The server has
	 * refused them; they are counted as those without a slot.
	 */
	__u64 stray[2];
};

/*
 * Reasons of failed puts: the server's answer, by its message number (caerr.h), or no answer. Index into
 * iocx_server_result.failures. PV Access has NO_WRITE_ACCESS, PUT_FAILED and CANCELLED.
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

/* Element of slot_results, by slot: two cache lines that a good WRITE does not touch. Mapped into user space. */
struct iocx_server_result {
	__u64 failures[IOCX_FAILURES];
	/*
	 * Of WRITE_NOTIFY, CLOCK_MONOTONIC. A channel has one that was started; each client may have one that waits for its
	 * end. Those of other clients than the channel's are in open_callbacks from their start on.
	 */
	__u64 asked_ns; /* the server was asked; 0: no, or it was started */
	__u64 notify;   /* that was started: the IOC's address of its processNotify; 0: none */
	__u64 since_ns; /* when the server was asked for that one */
	__u64 ended_ns; /* it was cancelled then, unless it is done after all; 0: no */
	__u64 pad[2];
};

/* Value of slot_durations, by slot: of put-callbacks that are done; of PV Access, of puts that were not refused. */
struct iocx_server_durations {
	__u64 sum_ns;
	__u64 buckets[IOCX_PUT_HIST_SLOTS];
};

/*
 * Index into slots_held, numbers of slots that are held: by all, by IOCs by their generation, and by clients, which
 * share buckets by a hash. Of the host's own clients of CA each connection is one. From IOCX_SERVER_CALLBACKS on, open
 * put-callbacks by IOC.
 */
#define IOCX_SERVER_HELD_IOC 1u
#define IOCX_SERVER_HELD_CLIENT (IOCX_SERVER_HELD_IOC + IOCX_SERVER_IOCS)
#define IOCX_SERVER_CLIENT_BUCKETS 4096u
#define IOCX_SERVER_CALLBACKS (IOCX_SERVER_HELD_CLIENT + IOCX_SERVER_CLIENT_BUCKETS)
#define IOCX_SERVER_HELD (IOCX_SERVER_CALLBACKS + IOCX_SERVER_IOCS)

/* Whether the holders of so many slots get one more of `room`: an IOC has three quarters at most, a client one. */
static inline __attribute__((always_inline)) int iocx_server_may(__u32 room, __u32 ioc, __u32 client)
{
	return ioc < room - room / 4 && client < room / 4;
}

#define IOCX_CA_SERVER_FIELD 32

/* Element of slot_info of CA, by slot; PV Access has the key alone there. Texts end in a zero byte. */
struct iocx_ca_server_info {
	struct iocx_ca_server_key key;
	char user[IOCX_CA_IDENTITY];
	char host[IOCX_CA_IDENTITY];
	char name[IOCX_CA_NAME]; /* as the client asked for it; with by_db_addr the record's */
	/* With by_db_addr: the field's name, and the types that show a long string (dbAddr, dbFldDes). */
	char field[IOCX_CA_SERVER_FIELD];
	__s32 description_type;
	__s16 field_type;
	__s16 dbr_field_type;
	/* The channel's client, where it is another one. */
	__u8 owner_address[4];
	__u16 owner_port;
	__u16 pad;
	char owner_user[IOCX_CA_IDENTITY];
};

/*
 * SID of the slots of clients in the IOC itself (sequencer, CA links). Their key: `client` is the address of the field,
 * `user` and `host` hold the thread's name, who.address to who.names the address of the source record, 0: no link writes.
 * Their info: `user` is the thread's name, `host` that of the source record.
 */
#define IOCX_INSIDE_SID 0xFFFFFFFFu
/* In their dbChannelIO (dbChannelIO.h): the dbChannel * or, before Base 3.15.1, the dbAddr. */
#define IOCX_INSIDE_CHANNEL 64

/* Key of open_callbacks: a put with callback that was begun, of PV Access, inside the IOC or to another's channel. */
struct iocx_open_callback_key {
	__u64 notify; /* the IOC's address of its processNotify */
	__u32 generation;
	__u32 pad;
};

struct iocx_open_callback {
	__u64 since_ns; /* CLOCK_MONOTONIC */
	__u64 id;       /* of the slot */
	__u32 slot;
	__u32 value_lost; /* PV Access, and below, for the put log. 1: an event with a value had no room */
	__u64 notify;     /* its processNotify, while that has the database write; 0: none */
	__u64 options;    /* enum iocx_putlog_option; above 0xFF the address of what QSRV 2 has of them */
};

#define IOCX_OPEN_CALLBACKS 16384u

/* Value of puts_remainder, by generation: puts of an IOC that have no slot. */
struct iocx_server_remainder {
	__u64 puts[2];
	__u64 last_put;
	__u64 failures[IOCX_FAILURES];
};

/* Index into the per-CPU array server_drops. */
#define IOCX_SERVER_DROP_LIST(ROW)                                                                        \
	/* puts that are counted for their IOC only: no room for client and PV; durations without room */ \
	ROW(IOCX_SERVER_DROP_FULL, "full")                                                                \
	/* the same: no client in the IOC's memory */                                                     \
	ROW(IOCX_SERVER_DROP_UNREADABLE, "unreadable")                                                    \
	/* names of PVs, users and hosts of which only the beginning is kept */                           \
	ROW(IOCX_SERVER_DROP_CUT, "cut")                                                                  \
	/* put-callbacks that are missing among those that wait; of CA: inside the IOC */                 \
	ROW(IOCX_SERVER_DROP_OPEN, "full")                                                                \
	/* of CA alone from here on: put-callbacks whose result was not seen */                           \
	ROW(IOCX_CA_SERVER_DROP_RESULT, "lost")                                                           \
	/* writes inside the IOC whose writer has no room, or cannot be read */                           \
	ROW(IOCX_CA_SERVER_DROP_INSIDE, "full")
IOCX_LABELLED_ENUM(iocx_server_drop, IOCX_SERVER_DROP_LIST, IOCX_CA_SERVER_DROPS)
#define IOCX_PVA_DROPS IOCX_CA_SERVER_DROP_RESULT

#ifdef __cplusplus
}
#endif

#endif
