/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Histograms of durations: the buckets of a Prometheus native histogram of schema 2, four a power of two. Two
 * shapes take different parts of one table of edges. From a duration in nanoseconds to its slot exactly and
 * without floating point; clang -target bpf and g++ compile it, and tests compare it with long double.
 *
 * Slot i holds durations in (2^((k-1)/4), 2^(k/4)] seconds with k = FIRST_K + i, upper edge inclusive. Slot 0
 * also holds what is shorter, and the last slot what is longer than every edge (+Inf).
 */
#ifndef IOC_EXPORTER_BPF_SHARED_HISTOGRAM_H
#define IOC_EXPORTER_BPF_SHARED_HISTOGRAM_H

#include <linux/types.h>

/* Durations of dbProcess. */
#define IOCX_HIST_FIRST_K (-88) /* 2^-22 s, 238 ns */
#define IOCX_HIST_LAST_K 8      /* 4 s */
#define IOCX_HIST_EDGES 97      /* IOCX_HIST_LAST_K - IOCX_HIST_FIRST_K + 1 */
#define IOCX_HIST_SLOTS 98      /* and one for what is longer */

/* Durations of puts, scans and completions. */
#define IOCX_PUT_HIST_FIRST_K (-80) /* 2^-20 s, 953 ns */
#define IOCX_PUT_HIST_LAST_K 40     /* 1,024 s */
#define IOCX_PUT_HIST_SLOTS (IOCX_PUT_HIST_LAST_K - IOCX_PUT_HIST_FIRST_K + 2)

/* Edges of the table that lie before the first edge of the second shape. */
#define IOCX_PUT_HIST_SKIPPED (IOCX_PUT_HIST_FIRST_K - IOCX_HIST_FIRST_K)

/*
 * floor(2^(k/4) s) in ns, k from IOCX_HIST_FIRST_K to IOCX_PUT_HIST_LAST_K; then what no duration exceeds, as
 * padding: an index masked with 127 and the three that follow it lie in the table, as the verifier demands.
 */
#define IOCX_HIST_TABLE (128 + 3)
static const __u64 iocx_hist_edge_ns[IOCX_HIST_TABLE] = {
	238ULL,          283ULL,          337ULL,           400ULL,          476ULL,          567ULL,
	674ULL,          801ULL,          953ULL,           1134ULL,         1348ULL,         1603ULL,
	1907ULL,         2268ULL,         2697ULL,          3207ULL,         3814ULL,         4536ULL,
	5394ULL,         6415ULL,         7629ULL,          9072ULL,         10789ULL,        12831ULL,
	15258ULL,        18145ULL,        21579ULL,         25662ULL,        30517ULL,        36291ULL,
	43158ULL,        51324ULL,        61035ULL,         72583ULL,        86316ULL,        102648ULL,
	122070ULL,       145166ULL,       172633ULL,        205296ULL,       244140ULL,       290333ULL,
	345266ULL,       410593ULL,       488281ULL,        580667ULL,       690533ULL,       821187ULL,
	976562ULL,       1161335ULL,      1381067ULL,       1642375ULL,      1953125ULL,      2322670ULL,
	2762135ULL,      3284751ULL,      3906250ULL,       4645340ULL,      5524271ULL,      6569503ULL,
	7812500ULL,      9290680ULL,      11048543ULL,      13139006ULL,     15625000ULL,     18581361ULL,
	22097086ULL,     26278012ULL,     31250000ULL,      37162722ULL,     44194173ULL,     52556025ULL,
	62500000ULL,     74325444ULL,     88388347ULL,      105112051ULL,    125000000ULL,    148650889ULL,
	176776695ULL,    210224103ULL,    250000000ULL,     297301778ULL,    353553390ULL,    420448207ULL,
	500000000ULL,    594603557ULL,    707106781ULL,     840896415ULL,    1000000000ULL,   1189207115ULL,
	1414213562ULL,   1681792830ULL,   2000000000ULL,    2378414230ULL,   2828427124ULL,   3363585661ULL,
	4000000000ULL,   4756828460ULL,   5656854249ULL,    6727171322ULL,   8000000000ULL,   9513656920ULL,
	11313708498ULL,  13454342644ULL,  16000000000ULL,   19027313840ULL,  22627416997ULL,  26908685288ULL,
	32000000000ULL,  38054627680ULL,  45254833995ULL,   53817370576ULL,  64000000000ULL,  76109255360ULL,
	90509667991ULL,  107634741152ULL, 128000000000ULL,  152218510720ULL, 181019335983ULL, 215269482304ULL,
	256000000000ULL, 304437021440ULL, 362038671967ULL,  430538964609ULL, 512000000000ULL, 608874042881ULL,
	724077343935ULL, 861077929219ULL, 1024000000000ULL, ~0ULL,           ~0ULL,
};

/* First index whose edge is at least 2^b ns: at most four edges lie between 2^b and 2^(b+1). */
static const __u8 iocx_hist_first_index[64] = {
	0,   0,   0,   0,   0,   0,   0,   0,   1,   5,   9,   13,  17,  21,  25,  29,  33,  37,  41,  45,  49,  53,
	57,  61,  65,  69,  73,  77,  81,  85,  89,  93,  97,  101, 105, 109, 113, 117, 121, 125, 125, 125, 125, 125,
	125, 125, 125, 125, 125, 125, 125, 125, 125, 125, 125, 125, 125, 125, 125, 125, 125, 125, 125, 125,
};

static inline __attribute__((always_inline)) __u32 iocx_log2(__u32 value)
{
	__u32 shift, log;

	log = (__u32)(value > 0xffff) << 4;
	value >>= log;
	shift = (__u32)(value > 0xff) << 3;
	value >>= shift;
	log |= shift;
	shift = (__u32)(value > 0xf) << 2;
	value >>= shift;
	log |= shift;
	shift = (__u32)(value > 0x3) << 1;
	value >>= shift;
	log |= shift;
	return log | (value >> 1);
}

/* Index of the first edge that is not less than `ns`; the number of edges when all of them are. */
static inline __attribute__((always_inline)) __u64 iocx_hist_index(__u64 ns)
{
	__u64 log = ns >> 32 ? 32 + iocx_log2((__u32)(ns >> 32)) : iocx_log2((__u32)ns);
	__u64 index;

	/* The compiler knows the ranges and would drop the masks; the verifier needs them. */
	__asm__ volatile("" : "+r"(log));
	index = iocx_hist_first_index[log & 63];
	__asm__ volatile("" : "+r"(index));
	index &= 127;
	return index + (ns > iocx_hist_edge_ns[index]) + (ns > iocx_hist_edge_ns[index + 1]) +
	       (ns > iocx_hist_edge_ns[index + 2]) + (ns > iocx_hist_edge_ns[index + 3]);
}

/* The slot of a duration of dbProcess, 0 to IOCX_HIST_SLOTS - 1. */
static inline __attribute__((always_inline)) __u32 iocx_hist_slot(__u64 ns)
{
	/* 2^32 ns lies between the last edge and the one behind it. */
	return ns > 0xffffffffULL ? IOCX_HIST_SLOTS - 1 : (__u32)iocx_hist_index(ns);
}

/* The slot of the duration of a put, a scan or a completion, 0 to IOCX_PUT_HIST_SLOTS - 1. */
static inline __attribute__((always_inline)) __u32 iocx_put_hist_slot(__u64 ns)
{
	const __u64 index = iocx_hist_index(ns);

	return index > IOCX_PUT_HIST_SKIPPED ? (__u32)(index - IOCX_PUT_HIST_SKIPPED) : 0;
}

#endif
