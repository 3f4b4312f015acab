/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Counts how many entries of shared tables each holder (an IOC, a client) has. None gets more of a table than a cap,
 * half of its room: one that makes up entries without end leaves the other half. Pure C that clang -target bpf and g++
 * both compile.
 *
 * Holders are counted in an array by their index, one element for all tables of an object; some indices are hashes, and
 * two holders with the same one are counted as one.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_CAPS_H
#define IOC_EXPORTER_BPF_SHARED_CAPS_H

#include <linux/types.h>

#define IOCX_CAPPED_TABLES 8 /* a power of two */

/* Element of the array: entries in each table. Mapped into user space; written by atomic additions. */
struct iocx_held {
	__u32 entries[IOCX_CAPPED_TABLES];
};

/* Index into the array. */
#define IOCX_HELD_ALL 0u /* of all together; as a holder: nobody */
#define IOCX_HELD_FIRST 1u

static inline __attribute__((always_inline)) __u32 iocx_cap(__u32 room)
{
	return room > 1 ? room / 2 : room;
}

#endif
