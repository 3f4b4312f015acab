/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The wire format between bpf/tap/tap.bpf.c and src/puts/tap/tap.cpp. Fixed-width types, padding as named fields; C++
 * asserts sizes and offsets.
 *
 * The kernel makes circuits and channels and marks them as ended. Only user space frees them, some time later, so
 * that no counter is freed while a program still adds to it. Ids of circuits and channels are never used twice.
 *
 * Circuits of PV Access are in the same maps, with iocx_ca_is_pva() of the number of their IOC. What differs is said at
 * the fields.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_CA_TAP_H
#define IOC_EXPORTER_BPF_SHARED_CA_TAP_H

#include <linux/types.h>

#include "shared/ca_resync.h"
#include "shared/ca_servers.h"
#include "shared/ca_caps.h"
#include "shared/ca_window.h"
#include "shared/histogram.h"
#include "shared/labelled_enum.h"
#include "shared/pva_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

#define IOCX_CA_NO_SLOT 0xFFFFFFFFu
/*
 * Unknown SIDs of a circuit that get a slot each; further ones share one slot. A circuit that was followed from its
 * first byte has made no such channel: they are another's, or invented.
 */
#define IOCX_CA_UNNAMED_PER_CIRCUIT 8192
#define IOCX_CA_STRANGE_PER_CIRCUIT 256

/* Key of ca_flows: a TCP connection, the same for both directions. */
struct iocx_ca_flow_key {
	struct iocx_ca_address client;
	struct iocx_ca_address server;
	__u16 client_port;
	__u16 server_port;
};

/*
 * Value of ca_begun: a SYN+ACK of this host, before any data. It is no circuit yet: a client that only opens
 * connections takes no room in ca_flows. The oldest are evicted for new ones.
 */
struct iocx_ca_begun {
	__u32 next[2]; /* sequence numbers of the first bytes, by direction */
	__u32 ioc;
};

/* One direction of a connection. */
struct iocx_ca_direction {
	__u32 lock;   /* 1 while a program works on this direction */
	__u32 next;   /* TCP sequence number of the byte that comes next */
	__u32 window; /* index of the window's first page in ca_pages, plus 1; 0: there is no window */
	__u32 acked;  /* the receiver has acknowledged up to here; only set while `wants_acks` */
	__u8 next_known;
	__u8 boundary;   /* 8 + sequence number of a message's start modulo 8; 0: not known */
	__u8 wants_acks; /* there is a window, or one of the reasons that follow */
	__u8 behind;     /* bytes were not stored for want of room: only the receiver says how far the stream is */
	__u16 notified;  /* to the server: entries made in ca_pending; to the client: those that answers have removed */
	__u16 pad;
	__u64 heard_ns; /* to the server: when data was last seen; CLOCK_MONOTONIC. 0: never */
	union {
		struct iocx_ca_stream stream; /* of either protocol */
		struct iocx_pva_stream pva;
	};
};

/* Index into iocx_ca_flow.counts. Each is written under the lock of one direction. */
enum iocx_ca_count {
	IOCX_CA_COUNT_GETS,   /* the first three in the order of the events from IOCX_CA_GET on */
	IOCX_CA_COUNT_ECHOES, /* not by PV Access */
	IOCX_CA_COUNT_UPDATES,
	IOCX_CA_COUNT_DISCONNECTS, /* channels that the server closed */
	IOCX_CA_COUNT_RECEIVED,    /* bytes of TCP payload to the server */
	IOCX_CA_COUNT_SENT,        /* and from it */
	IOCX_CA_COUNT_UNREAD,      /* bytes to the server in which puts may have been that were not read */
	IOCX_CA_COUNTS
};
#define IOCX_CA_COUNT_ROOM 8

/*
 * User and host as the client names them. By PV Access so with the method `ca`; of another one `user` is its name and a
 * slash ("anonymous/"), and `host` is empty. Both are empty when the client's message could not be read (name_cut).
 */
struct iocx_ca_identity {
	char user[IOCX_CA_IDENTITY]; /* texts end in a zero byte */
	char host[IOCX_CA_IDENTITY];
};

#define IOCX_CA_ASKED (1ULL << 32)
#define IOCX_CA_ANSWERED (1ULL << 33)

/* Value of ca_flows. */
struct iocx_ca_flow {
	__u64 circuit;       /* the connection's id; another one when the 4-tuple is used again */
	__u32 ioc;           /* number of the IOC that user space gave for the server */
	__u32 unnamed_slot;  /* counts puts on unknown channels; IOCX_CA_NO_SLOT: none yet */
	__u32 first_seq[2];  /* of the two directions, from the SYN+ACK: a repeated one has the same */
	__s32 channels;      /* answered and not ended: by CA user and host do not change while there are some */
	__u8 ended;          /* all bytes up to a FIN were seen, or an RST */
	__u8 lacks_channels; /* not all of its channels are known */
	__u8 events_off;     /* the client has switched monitor updates off; not by PV Access */
	__u8 alien;          /* at a server for PV Access: it has begun in another protocol. Nothing is read */
	__u64 since_ns;      /* when it was first seen; CLOCK_MONOTONIC */
	__u32 holder;        /* the client: index into ca_held */
	__u32 unnamed;       /* slots of unknown SIDs */
	__u32 lock;          /* names its locks in ca_locks; the same as long as it is followed, as `circuit` is not */
	__u32 pad;
	__u64 refused_ns; /* when the server was sent a message at which it closes the circuit; CLOCK_MONOTONIC */
	/*
	 * While the boundaries to the server are not proved: IOCX_CA_ASKED and the IOID of the first request that is to be
	 * answered, then IOCX_CA_ANSWERED. 0: there was none.
	 */
	__u64 asked;
	__u64 counts[IOCX_CA_COUNT_ROOM]; /* enum iocx_ca_count; not reset when the 4-tuple is used again */
	/* Written under the lock of the direction to the server: what the client has said before its channels. */
	struct iocx_ca_identity identity;
	struct iocx_ca_direction directions[2]; /* IOCX_CA_TO_SERVER, IOCX_CA_TO_CLIENT */
};

/*
 * Key of ca_sids, ca_cids and ca_pending: `id` is a SID, a CID, an IOID. A CID that a client uses again before the server
 * has answered stands for the first channel alone.
 */
struct iocx_ca_channel_key {
	__u64 circuit;
	__u32 id;
	__u32 place; /* ca_pending: in the queue of requests with the same id; 0: at its head */
};

/*
 * A client may use an IOID again before the server has answered the first request: the server answers all of them, in
 * turn. So many may wait for an id behind the first.
 */
#define IOCX_CA_QUEUE 64u
struct iocx_ca_queue {
	__u32 asked; /* requests that were ever put behind the head; written under the lock to the server */
	__u32 taken; /* those that have become the head since; written under the lock to the client */
};

/* Value of ca_cids. */
struct iocx_ca_cid {
	__u64 channel; /* id of the channel */
	__u32 slot;    /* IOCX_CA_NO_SLOT: the server has not answered yet */
	__u32 access;  /* enum iocx_ca_access, as the server has reported it last */
};

/* The bits of ACCESS_RIGHTS. */
enum iocx_ca_access {
	IOCX_CA_ACCESS_NONE,
	IOCX_CA_ACCESS_READ,
	IOCX_CA_ACCESS_WRITE,
	IOCX_CA_ACCESS_READ_WRITE,
	IOCX_CA_ACCESS_UNKNOWN,
};

enum iocx_ca_slot_state {
	IOCX_CA_SLOT_FREE,    /* in ca_free_slots, or being taken from or given back to it */
	IOCX_CA_SLOT_LIVE,    /* a channel */
	IOCX_CA_SLOT_UNNAMED, /* a channel of which only the SID is known */
	IOCX_CA_SLOT_ENDED,   /* a channel that the client or the server closed */
	IOCX_CA_SLOT_SHARED,  /* puts of a circuit on unknown channels that have no slot of their own */
};

/* Element of ca_channels, one cache line: what a put touches. Mapped into user space. */
struct iocx_ca_channel {
	__u64 channel; /* id of the channel; written before `state` */
	__u64 circuit;
	/* WRITE, WRITE_NOTIFY; by PV Access PUT and PUT_GET, RPC. Written under the lock of the direction to the server. */
	__u64 puts[2];
	/* When the segment of the last put was seen, CLOCK_MONOTONIC ns; the lowest bit is the index of the put
	 * in `puts`. 0: there was none. */
	__u64 last_put;
	__u32 sid;
	__u32 cid;
	__u32 state; /* enum iocx_ca_slot_state */
	/* By PV Access 0, UNKNOWN, and 0. */
	__u32 monitors; /* open subscriptions */
	__u32 access;   /* enum iocx_ca_access */
	__u32 elements; /* element count of the channel; 0: not known */
};

/*
 * So many of a circuit's WRITE_NOTIFYs may wait for their answers that nobody holds in ca_pending: nearly always one
 * does. By PV Access requests stay, and the client holds each.
 */
#define IOCX_CA_FEW_PENDING 8

/*
 * Value of ca_pending: a WRITE_NOTIFY whose answer was not seen yet. By PV Access a request for puts by its IOID, from
 * its INIT to its end: `queue.asked` is its command, and `queue.taken` 1 when its next answer ends it.
 */
struct iocx_ca_pending {
	__u64 since_ns; /* when the last byte was seen; CLOCK_MONOTONIC. By PV Access 0 while no put waits */
	__u64 channel;
	__u32 slot;
	__u32 holder;               /* index into ca_held; 0: nobody */
	struct iocx_ca_queue queue; /* of the head */
};

/* Value of ca_outcomes, by channel: how long its WRITE_NOTIFYs took; by PV Access, all of its puts. */
struct iocx_ca_outcome {
	__u64 sum_ns;
	__u32 slot;
	__u32 holder; /* index into ca_held */
	__u64 buckets[IOCX_PUT_HIST_SLOTS];
};

/* Key and value of ca_failures: puts on a channel that were answered with an error. */
struct iocx_ca_failure_key {
	__u64 channel;
	__u32 status; /* ECA_ code of caerr.h, not ECA_NORMAL; of PV Access PUT_FAILED or NO_WRITE_ACCESS */
	__u32 pad;
};
struct iocx_ca_failure {
	__u64 count;
	__u32 slot;
	__u32 holder; /* index into ca_held */
};
#define IOCX_CA_NORMAL 1u            /* ECA_NORMAL */
#define IOCX_CA_PUT_FAILED 160u      /* ECA_PUTFAIL */
#define IOCX_CA_NO_WRITE_ACCESS 376u /* ECA_NOWTACCESS */

/* Value of ca_channel_info, by channel: what user space reads once. */
struct iocx_ca_channel_info {
	__u64 circuit;
	struct iocx_ca_address client;
	__u32 ioc;
	__u16 client_port;
	__u16 server_port;
	__u32 holder; /* index into ca_held, as the circuit's */
	struct iocx_ca_identity identity;
	char name[IOCX_CA_NAME]; /* ends in a zero byte */
};

/* Index into the per-CPU array ca_drops. */
#define IOCX_CA_DROP_LIST(ROW)                                                                                 \
	/* the receiver has bytes that the tap did not see: puts in them are lost */                           \
	ROW(IOCX_CA_DROP_GAP, "lost")                                                                          \
	/* message boundaries were found again after a gap or a late start */                                  \
	ROW(IOCX_CA_DROP_RESYNC, "")                                                                           \
	/* connections that were open before the tap saw them */                                               \
	ROW(IOCX_CA_DROP_LATE, "")                                                                             \
	/* segments: another CPU held the lock of the direction for too long, or this CPU read another */      \
	ROW(IOCX_CA_DROP_BUSY, "lost")                                                                         \
	/* segments of connections: the map is full, or the client has too many */                             \
	ROW(IOCX_CA_DROP_CIRCUITS_FULL, "full")                                                                \
	/* channels: the map is full, or the client has too many. Their puts have no name */                   \
	ROW(IOCX_CA_DROP_CHANNELS_FULL, "full")                                                                \
	/* puts that were not counted: no slot, not even for pv "" */                                          \
	ROW(IOCX_CA_DROP_LOST_PUT, "full")                                                                     \
	/* names that were cut to the length that is kept; by PV Access, users that could not be read */       \
	ROW(IOCX_CA_DROP_NAME_CUT, "cut")                                                                      \
	/* IP fragments with a watched port; PV Access messages without all ids, or in a wrong byte order */   \
	ROW(IOCX_CA_DROP_NOT_PARSED, "unreadable")                                                             \
	/* segments with more messages than one run may read */                                                \
	ROW(IOCX_CA_DROP_TOO_LONG, "lost")                                                                     \
	/* connections to watched ports that do not speak the port's protocol */                               \
	ROW(IOCX_CA_DROP_NOT_CA, "")                                                                           \
	/* circuits that the server closes at a message that it refuses: what is sent behind it is not read */ \
	ROW(IOCX_CA_DROP_REFUSED, "unreadable")                                                                \
	/* segments with new data after FIN or RST */                                                          \
	ROW(IOCX_CA_DROP_AFTER_END, "lost")                                                                    \
	/* answers to puts: the map is full, or the client has too many there */                               \
	ROW(IOCX_CA_DROP_OUTCOMES_FULL, "full")                                                                \
	/* answers to puts that were not seen */                                                               \
	ROW(IOCX_CA_DROP_ORPHAN_ANSWER, "")                                                                    \
	/* missing bytes that came later: nothing is lost */                                                   \
	ROW(IOCX_CA_DROP_HOLE_FILLED, "")                                                                      \
	/* segments that came ahead of missing bytes: no room in the window */                                 \
	ROW(IOCX_CA_DROP_WINDOWS_FULL, "lost")                                                                 \
	/* messages after a gap that name no channel of their circuit: not counted */                          \
	ROW(IOCX_CA_DROP_ORPHAN, "")
IOCX_LABELLED_ENUM(iocx_ca_drop, IOCX_CA_DROP_LIST, IOCX_CA_DROPS)

#ifdef __cplusplus
}
#endif

#endif
