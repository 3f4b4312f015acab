/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * From a duration in nanoseconds to its slot in a histogram of iocx_record_stats, exactly and without
 * floating point. Compiled by clang -target bpf and by g++: tests compare it with long double.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_HISTOGRAM_H
#define IOC_EXPORTER_BPF_SHARED_HISTOGRAM_H

#include "record_process.h"

/*
 * floor(2^(k/4) s) in ns for each finite upper edge; then what no duration exceeds, as padding: a slot
 * masked with 127 and the three that follow it are inside the table, as the verifier wants to see.
 */
#define IOCX_HIST_TABLE (128 + 3)
static const __u64 iocx_hist_edge_ns[IOCX_HIST_TABLE] = {
	238ULL, 283ULL, 337ULL, 400ULL, 476ULL, 567ULL, 674ULL, 801ULL,
	953ULL, 1134ULL, 1348ULL, 1603ULL, 1907ULL, 2268ULL, 2697ULL, 3207ULL,
	3814ULL, 4536ULL, 5394ULL, 6415ULL, 7629ULL, 9072ULL, 10789ULL, 12831ULL,
	15258ULL, 18145ULL, 21579ULL, 25662ULL, 30517ULL, 36291ULL, 43158ULL, 51324ULL,
	61035ULL, 72583ULL, 86316ULL, 102648ULL, 122070ULL, 145166ULL, 172633ULL, 205296ULL,
	244140ULL, 290333ULL, 345266ULL, 410593ULL, 488281ULL, 580667ULL, 690533ULL, 821187ULL,
	976562ULL, 1161335ULL, 1381067ULL, 1642375ULL, 1953125ULL, 2322670ULL, 2762135ULL, 3284751ULL,
	3906250ULL, 4645340ULL, 5524271ULL, 6569503ULL, 7812500ULL, 9290680ULL, 11048543ULL, 13139006ULL,
	15625000ULL, 18581361ULL, 22097086ULL, 26278012ULL, 31250000ULL, 37162722ULL, 44194173ULL, 52556025ULL,
	62500000ULL, 74325444ULL, 88388347ULL, 105112051ULL, 125000000ULL, 148650889ULL, 176776695ULL, 210224103ULL,
	250000000ULL, 297301778ULL, 353553390ULL, 420448207ULL, 500000000ULL, 594603557ULL, 707106781ULL, 840896415ULL,
	1000000000ULL, 1189207115ULL, 1414213562ULL, 1681792830ULL, 2000000000ULL, 2378414230ULL, 2828427124ULL, 3363585661ULL,
	4000000000ULL,
	~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL,
	~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL,
	~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL,
	~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL,
};

/* First slot whose edge is at least 2^b ns: at most four edges lie between 2^b and 2^(b+1). */
static const __u8 iocx_hist_first_slot[32] = {
	0, 0, 0, 0, 0, 0, 0, 0, 1, 5, 9, 13, 17, 21, 25, 29,
	33, 37, 41, 45, 49, 53, 57, 61, 65, 69, 73, 77, 81, 85, 89, 93,
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

/* The slot, 0 to IOCX_HIST_SLOTS - 1. */
static inline __attribute__((always_inline)) __u32 iocx_hist_slot(__u64 ns)
{
	__u64 log, slot;

	if (ns > 0xffffffffULL)
		return IOCX_HIST_SLOTS - 1;
	/* The compiler knows the ranges and would drop the masks; the verifier needs them. */
	log = iocx_log2((__u32)ns);
	__asm__ volatile("" : "+r"(log));
	slot = iocx_hist_first_slot[log & 31];
	__asm__ volatile("" : "+r"(slot));
	slot &= 127;
	return (__u32)(slot + (ns > iocx_hist_edge_ns[slot]) + (ns > iocx_hist_edge_ns[slot + 1]) +
		       (ns > iocx_hist_edge_ns[slot + 2]) + (ns > iocx_hist_edge_ns[slot + 3]));
}

#endif
