/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Decides whether a holder may have one more place of a table that many share, so that none fills it. A holder (a
 * circuit, an IOC) belongs to a group (a client's address, a user). Pure C that clang -target bpf and g++
 * both compile.
 *
 * While half of a table is free, all may have what they ask for. Then one gets one more only while it holds less than an
 * eighth of what is left; and of the last quarter a group, while it holds less than a quarter of that, or, down to the
 * last eighth, while the one has next to nothing. So a holder that takes all it can get leaves most of the room, and so
 * do many such holders one after the other.
 *
 * Holders are counted in an array by their index, one element for all tables of an object; some indices are hashes, and
 * two holders that share one are counted as one: in a table that is nearly full, they get less than they might.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_SHARES_H
#define IOC_EXPORTER_BPF_SHARED_SHARES_H

#include <linux/types.h>

#define IOCX_SHARE_TABLES 8 /* a power of two */

/* Element of the array: how much of each table is held. Mapped into user space; written by atomic additions. */
struct iocx_share {
	__u32 held[IOCX_SHARE_TABLES];
};

/* Index into the array. */
#define IOCX_SHARE_ALL 0u   /* of all together */
#define IOCX_SHARE_LOCAL 1u /* a group without a bound: holders on this host, told apart one by one */
#define IOCX_SHARE_FIRST 2u

/* 1 of so many places is kept from the group without a bound. */
#define IOCX_SHARE_ELSEWHERE 16u
/* 1 of so many places is kept from all, for what must have one. */
#define IOCX_SHARE_KEPT 64u

/* Elements of a table, and the reserve for holders of few. */
struct iocx_table_bound {
	__u32 room;
	__u32 reserve;
};

/* Whether a holder of `own` places may have one more when `left` are free; `reserve` are for holders of few. */
static inline __attribute__((always_inline)) int iocx_one_may(__u32 own, __s32 left, __u32 reserve)
{
	return left > (__s32)reserve || (__s32)(own * 8) < left;
}

/* The same for a group. `own`: held by the one, so that small holders do not suffer from large ones of their group. */
static inline __attribute__((always_inline)) int iocx_group_may(__u32 group, __u32 own, __s32 left, __u32 reserve)
{
	if (left > (__s32)(reserve / 2) || (__s32)(group * 4) < left)
		return 1;
	return left > (__s32)(reserve / 4) && (__s32)(own * 64) < left;
}

/*
 * Whether one may have one more place, by what all, the one and its group hold. `one` and `group` are their indices;
 * `one` is IOCX_SHARE_ALL where only the group holds places.
 */
static inline __attribute__((always_inline)) int iocx_share_may(struct iocx_table_bound bound, __u32 one, __u32 group,
								__u32 all, __u32 own, __u32 theirs)
{
	const __s32 left = (__s32)(bound.room - all);
	const int is_local = group == IOCX_SHARE_LOCAL;

	if (left <= (__s32)(bound.room / (is_local ? IOCX_SHARE_ELSEWHERE : IOCX_SHARE_KEPT)))
		return 0;
	if (one == IOCX_SHARE_ALL)
		return iocx_group_may(theirs, bound.room, left, bound.reserve);
	return iocx_one_may(own, left, bound.reserve) && (is_local || iocx_group_may(theirs, own, left, bound.reserve));
}

#endif
