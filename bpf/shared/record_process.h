/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The wire format between bpf/records/process.bpf.c and src/records/probe/tables.cpp.
 * Fixed-width types, padding as named fields; C++ asserts sizes and offsets.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_RECORD_PROCESS_H
#define IOC_EXPORTER_BPF_SHARED_RECORD_PROCESS_H

#include <linux/types.h>

#include "shared/attach.h"
#include "shared/histogram.h"
#include "shared/labelled_enum.h"
#include "shared/record_puts.h"
#include "shared/record_caps.h"

#define IOCX_MAX_IOCS 1024 /* watched IOCs, a slot each */
#define IOCX_MAX_DEPTH 64  /* calls within calls that have frames; deeper ones are counted without a duration */

/* Functions whose ends are seen (shared/function_ends.h): index into function_ends is slot * IOCX_ENDING_FUNCTIONS + this. */
enum iocx_ending_function {
	IOCX_ENDING_PROCESS,       /* dbProcess */
	IOCX_ENDING_SCAN,          /* scanList */
	IOCX_ENDING_SHELL,         /* dbpf */
	IOCX_ENDING_INSIDE,        /* dbChannelIO::write */
	IOCX_ENDING_INSIDE_NOTIFY, /* the same with callback */
	IOCX_ENDING_FUNCTIONS
};

/*
 * Counts of one record. Written by one thread at a time: dbProcess runs under the record's lock. A call that is timed
 * may stand for several (iocx_ioc_config.weight): it has that weight in the sums and buckets. Where calls are timed for a
 * part of the time, the sum of the buckets is as many as were processed on average. What every call touches comes first.
 */
struct iocx_record_stats {
	__u64 processed;        /* all processings */
	__u64 untimed;          /* processings that were not timed: nothing saw their end */
	__u64 sum_ns;           /* time of dbProcess, children included: the sum of what the buckets count */
	__u64 self_ns;          /* the same without the records that were processed in turn */
	__u8 severity;          /* 1 + SEVR when it was last processed; 0: not seen yet */
	__u8 asynchronous;      /* 1: dbProcess has returned with PACT set */
	__u16 ends;             /* IOCX_ENDS_SEEN: the last processing has had its recGblFwdLink(); or not yet */
	__u32 line;             /* 1 + index of the record's iocx_record_line and iocx_line_times; 0: it has none */
	__u64 async_start_ns;   /* when the timed call began that returned with PACT set; 0: none is under way */
	__u64 skipped_active;   /* calls that found PACT set */
	__u64 skipped_disabled; /* calls that found DISA equal to DISV */
	/* Up to here one cache line: the kernel's hash puts the value at the start of one. */
	__u32 async_weight;             /* of the call that async_start_ns is of */
	__u32 unwound;                  /* timed calls that were left without an end, within no other such call */
	__u64 buckets[IOCX_HIST_SLOTS]; /* processings by duration */
	__u64 puts[IOCX_PUT_SOURCES];   /* writes by enum iocx_put_source; atomic */
};

/*
 * Counts of one record in addition to its iocx_record_stats, and written as those are (bpf/records/lines.bpf.h). Its calls
 * that were not timed: half a cache line.
 */
struct iocx_record_line {
	__u64 record; /* struct dbCommon *; 0: nobody's yet */
	__u64 untimed;
	__u32 generation; /* of the IOC */
	__u32 next;       /* index of the line that the thread was at next, the last time */
	__u8 severity;    /* as in iocx_record_stats */
	__u8 left;        /* 1: it counts no more; what it has counted counts. User space may say so, too */
	__u16 ends;       /* as in iocx_record_stats */
	__u8 pad[4];
};

/*
 * And its timed ones, at the same index of another array: a cache line. The first buckets of the histogram that its
 * durations fall into have slots; those of the others are counted in iocx_record_stats alone.
 */
#define IOCX_LINE_SLOTS 10
struct iocx_line_times {
	__u64 timed; /* processings; the others as in iocx_record_stats */
	__u64 sum_ns;
	__u64 self_ns;
	__u32 slots[IOCX_LINE_SLOTS]; /* IOCX_LINE_SLOT(bucket) | processings; 0: free */
};
#define IOCX_LINE_SLOT(bucket) (((bucket) + 1) << IOCX_LINE_SLOT_SHIFT)
#define IOCX_LINE_SLOT_SHIFT 24
#define IOCX_LINE_SLOT_MOST ((1u << IOCX_LINE_SLOT_SHIFT) - 1)

#define IOCX_CHUNK_LINES 64 /* that are taken at once */

/* Owner of a chunk of lines. */
struct iocx_line_chunk {
	__u64 claims;     /* 0: free; 1: taken */
	__u32 generation; /* of the IOC */
	__u32 pad;
};

/* Of a thread. */
struct iocx_thread_lines {
	__u32 next;  /* index of the line that its next call is expected to count in */
	__u32 last;  /* of that of its last call */
	__u32 fresh; /* of the first one of its chunk that is nobody's yet */
	__u32 fresh_end;
};

/*
 * Where struct dbCommon has the fields that distinguish a processing from a skipped call.
 *
 * IOCX_LAYOUT_ANY: at the offsets in iocx_ioc_config; they are read in two steps. The others: DISV, DISA, SDIS,
 * SEVR and PACT lie in one window of known shape, so that one read at entry decides. The window starts with DISV
 * and DISA. SDIS follows, a struct link whose `type` (link.h) is 8 bytes in since Base 3.16.1; then SEVR. PACT is
 * the last byte.
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
	__u32 tgid;       /* process id in the initial pid namespace; 0: the slot is free */
	__u32 generation; /* changes when the slot gets another IOC */
	__u16 pact;       /* epicsUInt8 */
	__u16 disa;       /* epicsInt16 */
	__u16 disv;       /* epicsInt16 */
	__u16 stat;       /* epicsEnum16 */
	__u16 sevr;       /* epicsEnum16 */
	__u8 attach;      /* IOCX_ATTACH_*: which attachment's programs count; 0: none's */
	__u8 layout;      /* IOCX_LAYOUT_* */
	__u32 epoch;      /* changes when the probes were detached for a while */
	__u16 timed;      /* 1: the ends of calls are seen, by breakpoints (shared/function_ends.h) */
	__u16 switches;   /* how often one kind of attachment has replaced the other, which is off by now */
	__u32 holder;     /* iocx_holder_of() */
	/*
	 * A call that no other makes is timed, with all that it makes in turn, when it begins before
	 * `timed_until_ns` (CLOCK_MONOTONIC), and stands for `weight` calls; 0: none is.
	 */
	__u64 timed_until_ns;
	__u32 weight;
	__u16 scan; /* epicsEnum16; 0: not known */
	__u16 ends; /* IOCX_ENDS(era); 0: processings that do not come through dbProcess are not counted now */
	__u64 scans_since_ns; /* a pass that was noted before is not timed: its end may have gone by unseen */
	__u64 ends_since_ns;  /* when this era of `ends` began: a timed call from before may have had its end unseen */
	__u32 ends_count;     /* 1: the probe on recGblFwdLink() is there to count, not only for durations */
	__u32 scan_size;      /* of scanList(), bytes of code; 0: not known */
	__u64 scan_from;      /* where it begins, from where dbProcess is probed */
	__u32 stepped;        /* 1 << enum iocx_record_probe: those whose instruction the kernel steps */
	__u32 pad;
};

/* Functions that are probed at their entries. */
enum iocx_record_probe {
	IOCX_PROBE_PROCESS,        /* dbProcess */
	IOCX_PROBE_PUT,            /* dbPut */
	IOCX_PROBE_PUT_LINK_FIELD, /* dbCanSetLink */
	IOCX_PROBE_PUT_FIELD,      /* dbPutField */
	IOCX_PROBE_PUT_LINK,       /* dbPutLink */
	IOCX_PROBE_NOTIFY,         /* dbProcessNotify, dbPutNotify */
	IOCX_PROBE_SHELL,          /* dbpf */
	IOCX_PROBE_SCAN_LIST,      /* scanList */
	IOCX_PROBE_COMPLETION,     /* recGblFwdLink */
	IOCX_PROBE_LINK_PUT,       /* dbCaPutLinkCallback */
	IOCX_PROBE_PUT_INSIDE,     /* dbChannelIO::write */
	IOCX_PROBE_NOTIFY_INSIDE,  /* the same with callback */
	IOCX_PROBE_LINK_STEP,      /* dbPutLink */
};

/*
 * recGblFwdLink() ends each completed processing once (recGbl.c). One that the last dbProcess of its record is still
 * owed, while it is under way or after it, belongs to that; any other is a processing of its own: a driver has called
 * the record's support. An era is a time in which no end goes by unseen: what a record has from another era says
 * nothing.
 */
#define IOCX_ENDS(era) ((__u16)((era) << 1))
#define IOCX_ENDS_SEEN 1

/* Of the records of one IOC that complete later than their dbProcess returns, and of its threads that have no stack. */
struct iocx_asynchronous {
	__u32 seen;    /* 1: there are some */
	__s32 pending; /* timed calls whose completion has not been seen yet */
	__u32 direct;  /* enum iocx_direct: ends outside of dbProcess */
	__u32 pad;
	__u64 threadless; /* processings by those threads */
};
enum iocx_direct {
	IOCX_DIRECT_PERHAPS = 1, /* or of a dbProcess before this era */
	IOCX_DIRECT_COUNTED = 2,
	IOCX_DIRECT_UNSURE = 4, /* PERHAPS, of an asynchronous record: more often the end of a dbProcess before */
};

/* State of the call that a frame stands for. */
enum iocx_frame_state {
	IOCX_FRAME_TIMED,
	IOCX_FRAME_UNDECIDED, /* timed; the end decides whether the record was disabled */
	IOCX_FRAME_UNTIMED,   /* counted; nobody sees its end: see is_over() */
	IOCX_FRAME_DIRECT     /* the same, of recGblFwdLink() that ends a processing without dbProcess */
};
#define IOCX_FRAME_ENDED 1      /* in `flags`: recGblFwdLink() of the record was seen */
#define IOCX_FRAME_CHILD_LEFT 2 /* an exception has left the latest call within it */
#define IOCX_FRAME_WRITTEN 4    /* a client in the IOC has written to the record: the span before is its put */

/* A call of dbProcess on the stack of a thread. */
struct iocx_frame {
	__u64 sp;         /* stack pointer at entry: identifies the call when it ends */
	__u64 record;     /* struct dbCommon * */
	__u64 start_ns;   /* of a timed call, CLOCK_MONOTONIC */
	__u64 child_ns;   /* time of the records that it processed in turn */
	__u64 returns_to; /* return address; 0: not known */
	__u8 state;       /* enum iocx_frame_state */
	__u8 cause;       /* IOCX_CAUSE_EVENT or _IO_INTR; 0: by its caller or its thread */
	__u8 severity;    /* SEVR at entry */
	__u8 flags;       /* IOCX_FRAME_ENDED and what follows it */
	__u32 weight;     /* calls that it stands for when it is timed; of a DIRECT one timer_at() */
};

/* Cause of processing: the purpose of a thread, by its name, which Base sets since 3.15.0.1. */
#define IOCX_CAUSE_LIST(ROW)                                                       \
	ROW(IOCX_CAUSE_OTHER, "other")                                             \
	ROW(IOCX_CAUSE_SCAN, "scan")         /* scan-<period>: scan_names */       \
	ROW(IOCX_CAUSE_CALLBACK, "callback") /* cbLow, cbMedium, cbHigh */         \
	ROW(IOCX_CAUSE_ONCE, "once")         /* scanOnce */                        \
	ROW(IOCX_CAUSE_CA, "ca")             /* CAS-client */                      \
	ROW(IOCX_CAUSE_PVA, "pva")           /* PVXTCP, TCP-rx */                  \
	ROW(IOCX_CAUSE_MAIN, "main")         /* the first thread of the process */ \
	ROW(IOCX_CAUSE_LINK, "link")         /* not a thread: another record */    \
	ROW(IOCX_CAUSE_DIRECT, "direct")     /* without dbProcess */               \
	ROW(IOCX_CAUSE_EVENT, "event")       /* scanList(), SCAN is Event */       \
	ROW(IOCX_CAUSE_IO_INTR, "io_intr")   /* the same, I/O Intr */
IOCX_LABELLED_ENUM(iocx_cause, IOCX_CAUSE_LIST, IOCX_CAUSES)

#define IOCX_COMM_LEN 16  /* TASK_COMM_LEN */
#define IOCX_SEVERITIES 4 /* menuAlarmSevr: NO_ALARM, MINOR, MAJOR, INVALID */

/* Counts of a thread since it was bound to its IOC. Only that thread writes them. */
struct iocx_thread_counts {
	__u64 entries;                      /* hits of entry probes on any function */
	__u64 returns;                      /* hits of the probes that only timed calls need: ends, completions */
	__u64 returns_stepped;              /* of these, those whose instruction the kernel steps */
	__u64 stepped;                      /* of the entries, the same */
	__u64 extras;                       /* of the entries, those on functions that no processing is counted at */
	__u64 extras_stepped;               /* of these, as above */
	__u64 extras_ns;                    /* time of the programs there */
	__u64 entries_ns;                   /* time that the programs took at entries, by the means below */
	__u64 returns_ns;                   /* and at ends and completions */
	__u32 entry_ns;                     /* a program at an entry of dbProcess, lately */
	__u32 end_ns;                       /* at one of its ends */
	__u64 cold;                         /* hits after a pause of the thread: cfg_cold_ticks */
	__u64 last_tick;                    /* when it was hit last */
	__u64 roots;                        /* processings for the purpose of the thread */
	__u64 nested;                       /* processings by another record */
	__u64 timed;                        /* those of both that were timed */
	__u64 by_cause[4];                  /* processings by IOCX_CAUSE_DIRECT and what follows it */
	__u64 transitions[IOCX_SEVERITIES]; /* changes of a record to this severity */
};

/*
 * The stack of a thread. Most are elements of the array record_threads, at the index that the low bits of the thread
 * id give. When another thread has that element, the stack is in the hash record_threads_overflow.
 */
struct iocx_thread {
	__u64 owner; /* tgid << 32 | tid; 0: free. The thread sets it, user space clears it when the thread is gone */
	__u32 slot;
	__u32 generation;
	__u32 epoch; /* of iocx_ioc_config when the frames were made */
	__u32 depth;
	__u8 cause;   /* enum iocx_cause */
	__u8 left_by; /* IOCX_LEFT_BY() when that attachment's program has left the last hit to the other one's */
	__u16 ends;   /* of the record that is counted next */
	__u32 holder; /* of the stack, as iocx_ioc_config has it */
	char comm[IOCX_COMM_LEN]; /* name of the thread when it was bound */
	struct iocx_thread_counts counts;
	struct iocx_thread_puts puts;
	struct iocx_thread_lines lines;
	struct iocx_frame frames[IOCX_MAX_DEPTH];
};

/* A name that the thread of a periodic scan has: a thread with another name is none, whatever it calls itself. */
struct iocx_scan_name {
	__u32 generation; /* of the IOC that has such a scan; 0: any may have it */
	char comm[IOCX_COMM_LEN];
};
#define IOCX_MAX_SCAN_NAMES 2048

/* Processings of one record for one cause. */
struct iocx_cause_key {
	__u64 record;
	__u32 generation;         /* of the IOC */
	__u32 cause;              /* enum iocx_cause */
	char comm[IOCX_COMM_LEN]; /* name of a scan thread; else zeros */
};

/*
 * Entries in one of an IOC's maps. Programs look at it when they add one. Index into `record_rooms`: the slot, for the
 * map of its records; IOCX_COMPLETIONS_ROOM(slot), for that of their completions.
 */
struct iocx_room {
	__u64 used;    /* added; written by programs, and when the map is replaced */
	__u64 limit;   /* may be used: user space's share of the kernel memory for the IOC */
	__u64 refused; /* calls that would have added one above the limit */
};
#define IOCX_COMPLETIONS_ROOM(slot) (IOCX_MAX_IOCS + (slot))
#define IOCX_RECORD_ROOMS (2 * IOCX_MAX_IOCS)

/* Index into the per-CPU array `record_drops`. */
#define IOCX_RECORD_DROP_LIST(ROW)                                                                        \
	/* no room for the stack of another thread: counted without a duration */                         \
	ROW(IOCX_RECORD_DROP_THREADS_FULL, "full")                                                        \
	/* no room for another record: not counted; scan list or asynchronous record: not timed */        \
	ROW(IOCX_RECORD_DROP_RECORDS_FULL, "full")                                                        \
	/* its IOC has used up its share of --limit.kernel-memory, or the kernel has none: not counted */ \
	ROW(IOCX_RECORD_DROP_MEMORY, "memory")                                                            \
	/* a field of the record could not be read: counted as processed; its address: not counted */     \
	ROW(IOCX_RECORD_DROP_READ, "unreadable")                                                          \
	/* an exception or the end of its thread left it: without a duration */                           \
	ROW(IOCX_RECORD_DROP_UNWOUND, "unwound")                                                          \
	/* no room for another cause of a record: counted without it */                                   \
	ROW(IOCX_RECORD_DROP_CAUSES_FULL, "full")                                                         \
	/* the begin of a put with callback was not seen: its writes are counted as `other` */            \
	ROW(IOCX_RECORD_DROP_NOTIFY_UNKNOWN, "unnamed")
IOCX_LABELLED_ENUM(iocx_record_drop, IOCX_RECORD_DROP_LIST, IOCX_RECORD_DROPS)

#endif
