/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The wire format of traces: what a chain of records did, from the outermost dbProcess of a thread to its end, in a ring
 * buffer that bpf/traces/chains.bpf.h writes and src/traces/chain_reader.cpp reads. Fixed-width types, padding as named
 * fields; C++ asserts sizes and offsets.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_TRACES_H
#define IOC_EXPORTER_BPF_SHARED_TRACES_H

#include <linux/types.h>

#include "shared/labelled_enum.h"
#include "shared/server_probe.h"
#include "shared/record_process.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Spans that the kernel holds of one thread; a chain with more goes out in several parts. */
#define IOCX_TRACE_SPANS 64
/* Asynchronous records whose completion is waited for, of all IOCs. */
#define IOCX_TRACE_PENDING 16384
/* Threads whose last put is known, and puts with callback that have ended; the oldest make room. */
#define IOCX_TRACE_PUTS 16384
/* Key of the end of a put with callback, beside those of threads, which have not the highest bit. Its value: time, slot, id. */
#define IOCX_TRACE_PUT_END(time) ((time) | 1ULL << 63)
/* Key of the last write of a thread that is a client in the IOC itself. */
#define IOCX_TRACE_PUT_INSIDE(thread) ((thread) | 1ULL << 62)
/* Records that are asked for, of all IOCs. */
#define IOCX_TRACE_WISHES 65536
/* Channel Access links of all IOCs whose PVs are known; those that put the longest time ago make room. */
#define IOCX_TRACE_LINKS 8192
/* The PV of a link, with its zero byte; a longer one is cut. */
#define IOCX_TRACE_PV 80

/* Why a chain was chosen: bits, and their places as texts in src/traces. */
enum iocx_trace_why {
	IOCX_TRACE_RATE = 1,
	IOCX_TRACE_ASKED = 2,
	IOCX_TRACE_SLOWER = 4,
	IOCX_TRACE_ALARM = 8,
	IOCX_TRACE_ACTIVE = 16,
	IOCX_TRACE_CONTINUED = 32, /* of a chosen chain, by an asynchronous record that has completed */
};

enum iocx_trace_setting {
	/* With one of these every chain is a candidate, and its end decides. */
	IOCX_TRACE_BY_ALARM = 1,  /* a record of it has gone into alarm, or to a higher severity */
	IOCX_TRACE_BY_ACTIVE = 2, /* a record of it was active already */
	IOCX_TRACE_BY_TIME = 4,
	IOCX_TRACE_HAS_WISHES = 8,
	/* But for those asked for, only chains in which a record processes that has IOCX_TRACE_WISH_NAMED. */
	IOCX_TRACE_NAMED_ONLY = 16,
};

/* Settings of one IOC, at its slot. User space writes them. */
struct iocx_trace_config {
	__u32 generation;  /* only chains of this IOC are traced; 0: none */
	__u32 settings;    /* enum iocx_trace_setting */
	__u32 causes;      /* bits of causes of chains that may be chosen */
	__u32 at_once;     /* the rate (shared/trace_lot.h): chains a second, rounded up */
	__u64 interval_ns; /* the rate's, between two chains; 0: it chooses none */
	__u64 slower_ns;   /* BY_TIME: shortest duration */
};

/* A record that is asked for. */
struct iocx_trace_wish_key {
	__u64 record;
	__u32 generation;
	__u32 pad;
};
enum iocx_trace_wish_flag {
	IOCX_TRACE_WISH_NAMED = 1, /* by the settings: the rate and the rest are for its chains */
	IOCX_TRACE_WISH_ASKED = 2, /* by somebody, for a while: all its chains */
};
struct iocx_trace_wish {
	__u64 until_ns;  /* CLOCK_MONOTONIC: ASKED holds before that */
	__u64 slower_ns; /* ASKED: shortest duration */
	__u32 causes;    /* ASKED: bits of causes */
	__u32 flags;     /* enum iocx_trace_wish_flag */
};

enum iocx_trace_span_flag {
	IOCX_TRACE_SPAN_ASYNCHRONOUS = 1, /* it was active when dbProcess returned */
	IOCX_TRACE_SPAN_CUT = 2,          /* its end was not seen: end_ns is when that was noticed */
	IOCX_TRACE_SPAN_DISABLED = 4,     /* the record did not process */
	IOCX_TRACE_SPAN_ACTIVE = 8,       /* the same: it was active */
	IOCX_TRACE_SPAN_LINK = 16,        /* no record: a put through a link; `record` is its channel */
	IOCX_TRACE_SPAN_NOT_SENT = 32,    /* the same: there was no connection, or no right to write */
	/* No record: a put within the IOC, as iocx_trace_put has it: `record` is its id, `child_ns` are slot and generation. */
	IOCX_TRACE_SPAN_PUT = 64,
};

/* One dbProcess, or one put. Spans are in the order of their ends. */
struct iocx_trace_span {
	__u64 record;
	__u64 start_ns; /* CLOCK_MONOTONIC, as all times here */
	__u64 end_ns;
	__u64 child_ns; /* of that, in records that it processed in turn */
	__u16 number;   /* from 1 on, in the order of their starts; 1 is the outermost */
	__u16 parent;   /* 0: none */
	__u16 status;   /* STAT afterwards */
	__u8 severity;  /* SEVR afterwards; IOCX_SEVERITIES: not known */
	__u8 flags;     /* enum iocx_trace_span_flag */
};

enum iocx_trace_kind {
	IOCX_TRACE_CHAIN,
	IOCX_TRACE_GOES_ON,    /* a chain has begun that continues another: its end is to come */
	IOCX_TRACE_COMPLETION, /* of an asynchronous record */
	IOCX_TRACE_PVA_PUT,    /* the put that began a chain */
	IOCX_TRACE_KINDS
};

/* A put, by slot and id in the CA server probe (shared/putlog.h has the same of an event). */
struct iocx_trace_put {
	__u64 time; /* of the put, and of its event in the put log; 0: no put is known */
	__u64 id;
	__u32 slot;
	__u32 generation; /* of the IOC, as the server probe calls it */
	__u32 sid;
	__u8 address[4]; /* of the client */
	__u16 port;
	__u8 op;    /* 0: WRITE, 1: WRITE_NOTIFY */
	__u8 waits; /* 1: its end will be seen */
	__u32 sp;   /* inside the IOC: low half of the stack pointer at the entry of the write */
};

/* An event of all kinds except PVA_PUT. The spans follow. */
struct iocx_trace_chain {
	__u32 kind; /* enum iocx_trace_kind */
	__u32 slot;
	__u64 id;        /* random, never 0 */
	__u64 parent_id; /* of the chain that it continues; 0: none */
	__u64 owner;     /* tgid << 32 | tid */
	__u64 start_ns;
	__u64 now_ns; /* when this was sent */
	struct iocx_trace_put put;
	__u32 generation; /* of the IOC, in iocx_ioc_config */
	__u32 cause;      /* of the chain */
	__u32 why;        /* enum iocx_trace_why */
	__u32 lost;       /* spans that had no room */
	char comm[IOCX_COMM_LEN];
	__u16 parent_span; /* with parent_id; of a completion: the span */
	__u16 part;        /* 0 is the first */
	__u16 spans;       /* that follow */
	__u16 last;        /* 1: nothing more of this chain comes */
};

struct iocx_trace_pva_put {
	__u32 kind;
	__u32 slot; /* of the chain that comes, at the same place as there */
	__u64 id;   /* of the chain that comes */
	__u64 time;
	struct iocx_pva_key key;
};

/* A Channel Access link of an IOC: its channel in the IOC's memory (chid). */
struct iocx_trace_link_key {
	__u64 channel;
	__u32 generation; /* of the IOC, in iocx_ioc_config */
	__u32 pad;
};
struct iocx_trace_link {
	char pv[IOCX_TRACE_PV];
};

#define IOCX_NS_PER_SECOND 1000000000ULL

/* An asynchronous record that is active. */
struct iocx_trace_pending {
	__u64 id;       /* of the chain */
	__u64 since_ns; /* when the trace began */
	__u64 start_ns; /* of the call that is to complete */
	__u32 number;
	__u32 pad;
};
/* Longest trace: records that process themselves again would go on for ever. */
#define IOCX_TRACE_PATIENCE_NS (10 * IOCX_NS_PER_SECOND)

/* Completion on a thread: records processed within recGblFwdLink belong to the chain. */
struct iocx_trace_resumed {
	__u64 owner;
	__u64 record;
	__u64 sp;         /* at the entry of recGblFwdLink */
	__u64 returns_to; /* the return address there */
	__u64 id;         /* of the chain; 0: nothing completes */
	__u64 since_ns;
	__u32 number;
	__u32 pad;
};

/* State of a thread, at its place in record_threads. Only that thread writes it. */
struct iocx_trace_thread {
	struct iocx_trace_chain chain; /* as it goes out; id 0: none is under way */
	struct iocx_trace_span spans[IOCX_TRACE_SPANS];
	struct iocx_trace_resumed resumed;
	__u64 since_ns;                /* when the trace began */
	__u64 asked_slower_ns;         /* chosen at its end, if it took this long; 0: not asked for */
	__u16 numbers[IOCX_MAX_DEPTH]; /* of the spans of the frames; 0: it has none */
	__u16 started;                 /* spans */
	__u8 excluded;                 /* its cause is not among those of the settings */
	__u8 named;                    /* a record with IOCX_TRACE_WISH_NAMED was there */
	__u8 raised;                   /* one went into alarm */
	__u8 met_active;
	__u8 broken;       /* 1 + why a part had no room, enum iocx_trace_drop: nothing more is sent */
	__u8 asynchronous; /* spans are, in the buffer */
};

/* Index into the per-CPU array trace_counts, and beyond these: IOCX_TRACE_SENT. */
#define IOCX_TRACE_DROP_LIST(ROW)                                                                    \
	/* chains that were chosen, and had no room in the ring */                                   \
	ROW(IOCX_TRACE_DROP_RING_FULL, "full")                                                       \
	/* the same: the ring was nearly full, most of it of their IOC (shared/ring_shares.h) */     \
	ROW(IOCX_TRACE_DROP_SHARE, "full")                                                           \
	/* chains longer than the buffer, before it was known that they are chosen: cut */           \
	ROW(IOCX_TRACE_DROP_TOO_LONG, "cut")                                                         \
	/* chains whose thread has no buffer, completions and puts of PV Access: no room for them */ \
	ROW(IOCX_TRACE_DROP_NO_ROOM, "full")                                                         \
	/* puts through links that could not be read: their traces lack them */                      \
	ROW(IOCX_TRACE_DROP_LINK_UNREADABLE, "unreadable")
IOCX_LABELLED_ENUM(iocx_trace_drop, IOCX_TRACE_DROP_LIST, IOCX_TRACE_DROPS)
#define IOCX_TRACE_SENT IOCX_TRACE_DROPS /* whole chains */
#define IOCX_TRACE_COUNTS (IOCX_TRACE_DROPS + 1)

#ifdef __cplusplus
}
#endif

#endif
