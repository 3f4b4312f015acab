/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * What bpf/records/process.bpf.c and src/probes/record_process.cpp tell each other: a wire format.
 * Fixed-width types, padding as named fields; C++ asserts sizes and offsets.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_RECORD_PROCESS_H
#define IOC_EXPORTER_BPF_SHARED_RECORD_PROCESS_H

#include <linux/types.h>

#include "shared/histogram.h"
#include "shared/labelled_enum.h"
#include "shared/record_puts.h"

#ifdef __cplusplus
extern "C" {
#endif

#define IOCX_MAX_IOCS 1024  /* slots of IOCs, one an IOC that is watched */
#define IOCX_MAX_DEPTH 64   /* MAX_URETPROBE_DEPTH: the kernel drops return probes that nest deeper */

/*
 * One record's counts. Written by one thread at a time: dbProcess runs under the record's lock. A call that
 * is timed stands for those before it that were not: it weighs `owed` + 1 in the sums and buckets.
 * At rest, processed = sum of the buckets + owed + untimed.
 */
struct iocx_record_stats {
	__u64 processed;        /* all processings; each is counted once and at once */
	__u64 sum_ns;           /* of dbProcess, children included; what the buckets hold */
	__u64 self_ns;          /* the same without the records that were processed in turn */
	__u64 untimed;          /* processed, but no return probe could time it (nested too deep) */
	__u64 skipped_active;   /* calls that found PACT set */
	__u64 skipped_disabled; /* calls that found DISA equal to DISV */
	__u64 timed_ns;         /* when the last timed call began, CLOCK_MONOTONIC */
	__u64 async_start_ns;   /* the same of a call that returned with PACT set; 0 = none is under way */
	__u32 owed;             /* processed since the last timed call, and not timed by choice */
	__u32 skip;             /* calls that are still to go by before one is timed */
	__u32 mean;             /* one call in so many is timed, about */
	__u8 severity;          /* 1 + SEVR when it was last processed; 0 = not seen yet */
	__u8 asynchronous;      /* was seen to return from dbProcess with PACT set */
	__u8 pad[2];
	__u64 buckets[IOCX_HIST_SLOTS]; /* processings by duration */
	__u64 puts[IOCX_PUT_SOURCES];   /* writes by enum iocx_put_source; atomic */
};

/* How a library's probes are attached: see src/probes/record_process.h. */
#define IOCX_ATTACH_PROCESS 1 /* one attachment for this process */
#define IOCX_ATTACH_ALL 2     /* one attachment for every process that maps the file */
/* Set while either is attached, the other too: every call has a return probe, so that the program that
 * comes second to it knows. */
#define IOCX_ATTACH_SWITCHING 4

/*
 * Where the fields that tell a processing from a skipped call lie in struct dbCommon.
 *
 * IOCX_LAYOUT_ANY: at the offsets in iocx_ioc_config, read in two steps.
 * The others: DISV, DISA, SDIS and PACT lie within one window of known shape, so that one read at entry
 * decides. The window starts at DISV; DISA follows it, then SDIS, a struct link whose `type` (link.h) is
 * 8 bytes in, as since Base 3.16.1; then SEVR, and PACT ends it.
 */
#define IOCX_LAYOUT_ANY 0
#define IOCX_LAYOUT_160 1 /* Base 7.0.4: PACT at DISV + 159 */
#define IOCX_LAYOUT_240 2 /* Base 7.0.6 and later, with AMSG and NAMSG: PACT at DISV + 239 */

#define IOCX_WINDOW_DISA 2
#define IOCX_WINDOW_SDIS 6
#define IOCX_WINDOW_SDIS_TYPE 14
#define IOCX_WINDOW_SEVR 146

/* One watched IOC, at index `slot` of ioc_config. Offsets in bytes within struct dbCommon. */
struct iocx_ioc_config {
	__u32 tgid;       /* process id in the initial pid namespace; 0 = slot is free */
	__u32 generation; /* changes whenever the slot gets another IOC */
	__u16 pact;       /* epicsUInt8 */
	__u16 disa;       /* epicsInt16 */
	__u16 disv;       /* epicsInt16 */
	__u16 stat;       /* epicsEnum16 */
	__u16 sevr;       /* epicsEnum16 */
	__u8 attach;      /* IOCX_ATTACH_* bits: whose programs count; both while switching over */
	__u8 layout;      /* IOCX_LAYOUT_* */
	__u32 epoch;      /* changes whenever the probes were detached for a while */
};

/* What a frame's call is, and what is to be done when it returns. */
enum iocx_frame_state {
	IOCX_FRAME_TIMED,
	IOCX_FRAME_UNDECIDED, /* timed; whether the record was disabled is known when the call returns */
	IOCX_FRAME_SKIPPED,   /* was counted as skipped; has a return probe all the same */
	IOCX_FRAME_UNTIMED    /* was counted; has no return probe: see is_over() */
};

/* Where a thread stands in the nesting of dbProcess. */
struct iocx_frame {
	__u64 sp;       /* stack pointer at entry: tells which call a return belongs to */
	__u64 record;   /* struct dbCommon * */
	__u64 start_ns; /* CLOCK_MONOTONIC; of an untimed call the return address that stood at `sp` */
	__u64 child_ns; /* time of the records processed in turn */
	__u32 state;    /* enum iocx_frame_state */
	__u32 severity; /* SEVR at entry */
};

/* What a thread works for, by its name (epicsThreadCreate's, since Base 3.15.0.1). */
#define IOCX_CAUSE_LIST(ROW)                                                                        \
	ROW(IOCX_CAUSE_OTHER, "other")                                                              \
	ROW(IOCX_CAUSE_SCAN, "scan")         /* scan-<period> */                                    \
	ROW(IOCX_CAUSE_CALLBACK, "callback") /* cbLow, cbMedium, cbHigh */                          \
	ROW(IOCX_CAUSE_ONCE, "once")         /* scanOnce */                                         \
	ROW(IOCX_CAUSE_CA, "ca")             /* CAS-client */                                       \
	ROW(IOCX_CAUSE_PVA, "pva")           /* PVXTCP, TCP-rx */                                   \
	ROW(IOCX_CAUSE_MAIN, "main")         /* the process' first thread */                        \
	ROW(IOCX_CAUSE_LINK, "link")         /* no thread's: the record was processed by another */
IOCX_LABELLED_ENUM(iocx_cause, IOCX_CAUSE_LIST, IOCX_CAUSES)

#define IOCX_COMM_LEN 16 /* TASK_COMM_LEN */
#define IOCX_SEVERITIES 4 /* menuAlarmSevr: NO_ALARM, MINOR, MAJOR, INVALID */

/* What one thread did for the IOC that it is bound to; written by that thread alone. */
struct iocx_thread_counts {
	__u64 entries; /* hits of entry probes, of any function */
	__u64 returns; /* hits of return probes */
	__u64 roots;   /* processings for the thread's own cause */
	__u64 nested;  /* processings by another record */
	__u64 timed;   /* of both, those whose duration was measured */
	__u64 transitions[IOCX_SEVERITIES]; /* records that were found to have changed to this severity */
};

/*
 * One thread's stack. Most live in the array record_threads, at the index that the low bits of the thread
 * id give; one that finds its place taken by another lives in the hash record_threads_overflow.
 */
struct iocx_thread {
	__u64 owner; /* tgid << 32 | tid; 0 = free. Set by that thread, cleared when it is gone */
	__u32 slot;
	__u32 generation;
	__u32 epoch; /* of iocx_ioc_config, when the frames were made */
	__u32 depth;
	__u32 cause; /* enum iocx_cause */
	__u32 pad;
	char comm[IOCX_COMM_LEN]; /* when it was bound */
	struct iocx_thread_counts counts; /* since it was bound */
	struct iocx_thread_puts puts;
	struct iocx_frame frames[IOCX_MAX_DEPTH];
};

/* Processings of one record for one cause. */
struct iocx_cause_key {
	__u64 record;
	__u32 generation; /* of the IOC */
	__u32 cause;      /* enum iocx_cause */
	char comm[IOCX_COMM_LEN]; /* of a scan thread; else zeros */
};

/* Processings of one record by another. */
struct iocx_link_key {
	__u64 source;
	__u64 record;
	__u32 generation; /* of the IOC */
	__u32 pad;
};

/* Index into the per-CPU array `record_drops`. */
#define IOCX_RECORD_DROP_LIST(ROW)                                           \
	/* no room for another thread's stack: counted without a duration */ \
	ROW(IOCX_RECORD_DROP_THREADS_FULL, "threads_full")                   \
	/* no room for another record: the call was not counted */           \
	ROW(IOCX_RECORD_DROP_RECORDS_FULL, "records_full")                   \
	/* the IOC's map of records was not there: not counted */            \
	ROW(IOCX_RECORD_DROP_NO_MAP, "no_map")                               \
	/* a field of the record could not be read: counted as processed */  \
	ROW(IOCX_RECORD_DROP_READ, "read_failed")                            \
	/* the return probe did not fire: counted without a duration */      \
	ROW(IOCX_RECORD_DROP_LOST_RETURN, "lost_return")                     \
	/* no room for another record's cause: counted without it */         \
	ROW(IOCX_RECORD_DROP_CAUSES_FULL, "causes_full")                     \
	/* no room for another link: counted without it */                   \
	ROW(IOCX_RECORD_DROP_LINKS_FULL, "links_full")                       \
	/* no room for another scan list: its scans are not timed */         \
	ROW(IOCX_RECORD_DROP_SCAN_LISTS_FULL, "scan_lists_full")             \
	/* no room for another asynchronous record: not timed */             \
	ROW(IOCX_RECORD_DROP_COMPLETIONS_FULL, "completions_full")
IOCX_LABELLED_ENUM(iocx_record_drop, IOCX_RECORD_DROP_LIST, IOCX_RECORD_DROPS)

#ifdef __cplusplus
}
#endif

#endif
