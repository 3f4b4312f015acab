/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Who may have one more place of a table, so that nobody fills one that others need: the rule of all tables that are
 * shared (ca_shares.h, record_shares.h). A place is held by one (a circuit, an IOC), who belongs to a group (a client's
 * address, a user).
 *
 * While half of a table is free, all may have what they ask for. Then one gets one more only while he holds less than an
 * eighth of what is left; and of the last quarter a group, while it holds less than a quarter of that, or, down to the
 * last eighth, while the one has next to nothing. So whoever takes all that he can get leaves most of it, and so do the
 * many who do so one after the other. Pure C that clang -target bpf and g++ both compile.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_SHARES_H
#define IOC_EXPORTER_BPF_SHARED_SHARES_H

#include <linux/types.h>

/* Whether one who holds `own` may have one more, when `left` places are; `reserve` are for those who have little. */
static inline __attribute__((always_inline)) int iocx_one_may(__u32 own, __s32 left, __u32 reserve)
{
	return left > (__s32)reserve || (__s32)(own * 8) < left;
}

/* The same for a group. Others of it shall not suffer from who has most: `own`, what the one has. */
static inline __attribute__((always_inline)) int iocx_group_may(__u32 group, __u32 own, __s32 left, __u32 reserve)
{
	if (left > (__s32)(reserve / 2) || (__s32)(group * 4) < left)
		return 1;
	return left > (__s32)(reserve / 4) && (__s32)(own * 64) < left;
}

#endif
