/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Shares of a ring buffer with many writers, so that none fills one that others need. Three quarters of a ring are for
 * whoever comes first; of the last one, a writer gets more while it has less than an eighth of what is left.
 *
 * An array of 64-bit numbers has, at the place of each writer, the bytes that it wrote, and in a second half its bytes
 * that were read: the difference lies in the ring. Programs add to the first half, the reader to the second. Pure C
 * that clang -target bpf and g++ both compile.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_RING_SHARES_H
#define IOC_EXPORTER_BPF_SHARED_RING_SHARES_H

#include <linux/types.h>

/* Bytes that are reckoned as one, so that the rule's products fit. */
#define IOCX_RING_UNIT 64u
#define IOCX_RING_RESERVE(size) ((size) / 4)

/* Bytes that an event of this size takes in the ring. */
static inline __attribute__((always_inline)) __u64 iocx_ring_bytes(__u32 size)
{
	return (size + 8ULL + 7) & ~7ULL;
}

#endif
