/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Takes and gives back places of tables that many share (shared/shares.h). Code that adds an entry takes a share first,
 * code that removes one gives the share back, in the kernel and in user space (kernel/shares.h) alike. An entry that is
 * there costs nothing. Before it is included, SHARES names the array.
 */
#ifndef IOC_EXPORTER_BPF_BASE_SHARES_H
#define IOC_EXPORTER_BPF_BASE_SHARES_H

#include "shared/shares.h"

const volatile struct iocx_table_bound cfg_bounds[IOCX_SHARE_TABLES];

/* With the table: take the share even where the holder has too much. */
#define SHARE_ANYHOW 16u

static __always_inline struct iocx_share *share_at(__u32 index)
{
	return bpf_map_lookup_elem(&SHARES, &index);
}

static __always_inline void add_to_shares(__u32 table, __u32 one, __u32 group, __u32 what)
{
	struct iocx_share *all = share_at(IOCX_SHARE_ALL), *own = share_at(one), *theirs = share_at(group);
	__u64 which = table;

	IOCX_CA_MASK(which, IOCX_SHARE_TABLES - 1);
	if (group == IOCX_SHARE_ALL || !all || !own || !theirs)
		return;
	__sync_fetch_and_add(&all->held[which], what);
	__sync_fetch_and_add(&theirs->held[which], what);
	if (one != IOCX_SHARE_ALL)
		__sync_fetch_and_add(&own->held[which], what);
}

/*
 * Returns 0 when there is no room for this holder, or no holder (`group` IOCX_SHARE_ALL). Global functions, so that the
 * verifier checks them once, not at each place that calls them; none of the arguments is a pointer.
 */
__attribute__((noinline)) int take_share(__u32 table, __u32 one, __u32 group)
{
	struct iocx_share *all = share_at(IOCX_SHARE_ALL), *own = share_at(one), *theirs = share_at(group);
	struct iocx_table_bound bound;
	__u64 which = table;

	IOCX_CA_MASK(which, IOCX_SHARE_TABLES - 1);
	if (group == IOCX_SHARE_ALL || !all || !own || !theirs)
		return 0;
	bound.room = cfg_bounds[which].room;
	bound.reserve = cfg_bounds[which].reserve;
	if (!(table & SHARE_ANYHOW) &&
	    !iocx_share_may(bound, one, group, all->held[which], own->held[which], theirs->held[which]))
		return 0;
	add_to_shares(table, one, group, 1);
	return 1;
}

__attribute__((noinline)) int give_share(__u32 table, __u32 one, __u32 group)
{
	add_to_shares(table, one, group, -1);
	return 1;
}

#endif
