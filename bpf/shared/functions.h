/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The wire format between bpf/functions/functions.bpf.c and src/functions: described functions of IOCs, what is read of
 * their calls, and the counts. Fixed-width types, padding as named fields; C++ asserts sizes and offsets.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_FUNCTIONS_H
#define IOC_EXPORTER_BPF_SHARED_FUNCTIONS_H

#include <linux/types.h>

#include "shared/histogram.h"
#include "shared/labelled_enum.h"
#include "shared/record_caps.h"

#ifdef __cplusplus
extern "C" {
#endif

#define IOCX_FUNCTIONS 4096       /* symbols of described functions, in all files */
#define IOCX_FUNCTION_ARGUMENTS 6 /* that are in registers, on every processor */
#define IOCX_FUNCTION_LOADS 5     /* pointers that are followed to one value */
#define IOCX_FUNCTION_LABELS 4    /* of one function, that are read at its calls */
#define IOCX_FUNCTION_TEXT 80     /* bytes of a text, its zero byte included */
#define IOCX_FUNCTION_WORDS 16    /* of 8 bytes: all labels of one function */
#define IOCX_FUNCTION_FEW_WORDS 2 /* that fit into the smaller key */
#define IOCX_FUNCTION_DEPTH 8     /* calls of one function within each other, by one thread */
#define IOCX_FUNCTION_AT_ONCE 4   /* descriptions of one function */

/* Sizes of maps. */
#define IOCX_FUNCTION_PLACES 32768
#define IOCX_FUNCTION_SERIES 8192
#define IOCX_FUNCTION_RESULTS 8192
#define IOCX_FUNCTION_THREADS 8192
#define IOCX_FUNCTION_STARTS 16384
#define IOCX_FUNCTION_POINTERS 4096

/* Start of a value: an argument's number, or this. */
#define IOCX_FUNCTION_RETURN IOCX_FUNCTION_ARGUMENTS

enum iocx_function_kind {
	IOCX_FUNCTION_NOTHING,
	IOCX_FUNCTION_NUMBER, /* the value itself */
	IOCX_FUNCTION_STRING  /* the text that stands at the value, shorter than `size` bytes */
};

/*
 * A program that computes one value: v = argument; for each load, v = the pointer at v + by[load]; then v += the last
 * `by`. The last load reads `last_load` bytes.
 */
struct iocx_function_value {
	__u8 kind;      /* enum iocx_function_kind */
	__u8 root;      /* argument, or IOCX_FUNCTION_RETURN */
	__u8 loads;     /* at most IOCX_FUNCTION_LOADS */
	__u8 last_load; /* bytes, at most 8 */
	__u8 size;      /* bytes: 1, 2, 4 or 8 of a number */
	__u8 is_signed; /* of a number */
	__u8 word;      /* a label's place in the key */
	__u8 pad;
	__s32 by[IOCX_FUNCTION_LOADS + 1];
};

/* What is wanted of a function. */
#define IOCX_FUNCTION_TIMED 1u         /* its time, from the entry to its ends */
#define IOCX_FUNCTION_RESULT 2u        /* the result, at the entry */
#define IOCX_FUNCTION_RESULT_AT_END 4u /* the result, at the ends */
#define IOCX_FUNCTION_BEGINS 8u        /* others ask for the time since its call with their key */
#define IOCX_FUNCTION_SINCE 16u        /* it asks so */
#define IOCX_FUNCTION_POINTER 32u      /* the address of another function stands in its arguments */
#define IOCX_FUNCTION_ENDS (IOCX_FUNCTION_TIMED | IOCX_FUNCTION_RESULT_AT_END)

/* A symbol of a described function, at its index. */
struct iocx_function {
	struct iocx_function_value labels[IOCX_FUNCTION_LABELS];
	struct iocx_function_value result, key, pointer;
	__u32 flags;
	__u32 words;  /* of its labels; 0: it has one series in each IOC */
	__u32 begins; /* BEGINS, and SINCE which other one: numbers of descriptions */
	__u32 since;
};

/* An address in a process where a function begins or ends, for each of its descriptions. */
struct iocx_function_place_key {
	__u64 address;
	__u32 tgid;
	__u32 which; /* IOCX_FUNCTION_WHICH() */
};
#define IOCX_FUNCTION_WHICH(description, at_end) (2 * (description) + (at_end))
struct iocx_function_place {
	__u64 hits;
	__u32 function; /* index */
	__u32 ioc;      /* its number, which the IOC keeps when it is restarted */
	__u32 series;   /* for calls without labels, and for labels without room */
	__u32 epoch;    /* changes when its probes were off: an entry from before has no end here */
	__u32 below;    /* of an end: the stack pointer is so far below that at the entry */
	__u8 condition; /* of an end, as in shared/function_ends.h */
	__u8 more;      /* 1: another description follows */
	__u8 attach;    /* of an entry: IOCX_ATTACH_*, which program counts */
	__u8 pad;
	__u32 holder;
	__u32 pad2;
};

/* Calls with the same labels; where they are short, the first bytes are the key. */
struct iocx_function_key {
	__u32 ioc;
	__u16 function;
	__u16 unread; /* bits of labels that could not be read */
	__u64 words[IOCX_FUNCTION_WORDS];
};
struct iocx_function_few_key {
	__u32 ioc;
	__u16 function;
	__u16 unread;
	__u64 words[IOCX_FUNCTION_FEW_WORDS];
};

struct iocx_function_series {
	__u64 used; /* 1: the rest is filled in */
	__u64 calls;
	__u64 other_results; /* that there was no room for */
	__u32 holder;
	__u32 pad;
	struct iocx_function_key key;
};
struct iocx_function_times {
	__u64 sum_ns;
	__u64 buckets[IOCX_PUT_HIST_SLOTS];
};

struct iocx_function_result_key {
	__s64 result;
	__u32 series;
	__u32 pad;
};
struct iocx_function_result {
	__u64 calls;
	__u32 holder;
	__u32 pad;
};

/* Calls of one function by one thread that have not ended. */
struct iocx_function_thread_key {
	__u64 id; /* tgid << 32 | tid */
	__u32 function;
	__u32 pad;
};
struct iocx_function_call {
	__u64 sp; /* at its entry */
	__u64 start_ns;
	__u32 series;
	__u32 pad;
};
struct iocx_function_thread {
	__u32 epoch;
	__u32 depth;
	__u32 holder;
	__u32 pad;
	struct iocx_function_call calls[IOCX_FUNCTION_DEPTH];
};

/* The latest call with this key, of a function that begins something. */
struct iocx_function_start_key {
	__u64 key;
	__u32 epoch; /* of the place: another one is of another process */
	__u32 begins;
};
struct iocx_function_start {
	__u64 start_ns;
	__u32 holder;
	__u32 pad;
};

/* An address that stood in a call's arguments. */
struct iocx_function_pointer_key {
	__u64 address;
	__u32 tgid;
	__u32 function;
};

/* Tables that the IOCs share. */
enum iocx_function_table {
	IOCX_FUNCTION_HELD_SERIES,
	IOCX_FUNCTION_HELD_RESULTS,
	IOCX_FUNCTION_HELD_THREADS,
	IOCX_FUNCTION_HELD_STARTS,
	IOCX_FUNCTION_HELD_POINTERS,
	/* of user space alone: places, series of calls without labels, and functions of files that are probed for an IOC */
	IOCX_FUNCTION_HELD_PLACES,
	IOCX_FUNCTION_HELD_OWN,
	IOCX_FUNCTION_HELD_PROBED
};

/* Index into the per-CPU array `function_drops`. */
#define IOCX_FUNCTION_DROP_LIST(ROW)                                                                      \
	/* no room for other labels: counted as (other) */                                                \
	ROW(IOCX_FUNCTION_DROP_SERIES_FULL, "full")                                                       \
	/* a label could not be read, or did not end: counted with an empty one */                        \
	ROW(IOCX_FUNCTION_DROP_LABEL_UNREAD, "unreadable")                                                \
	/* a result, key or pointer could not be read: counted without it */                              \
	ROW(IOCX_FUNCTION_DROP_VALUE_UNREAD, "unreadable")                                                \
	/* no room for the thread, or too many calls in each other: without time and result */            \
	ROW(IOCX_FUNCTION_DROP_CALL_FULL, "full")                                                         \
	/* no room for another result: counted as (other); key: without time; address: not attached to */ \
	ROW(IOCX_FUNCTION_DROP_FULL, "full")                                                              \
	/* no call with the key was seen before: without the time since then */                           \
	ROW(IOCX_FUNCTION_DROP_START_UNKNOWN, "")
IOCX_LABELLED_ENUM(iocx_function_drop, IOCX_FUNCTION_DROP_LIST, IOCX_FUNCTION_DROPS)

#ifdef __cplusplus
}
#endif

#endif
