/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Counts entries of tables that many share (shared/caps.h). Code that adds an entry takes a place first, code that
 * removes one gives the place back, in the kernel and in user space (kernel/caps.h) alike. An entry that is there costs
 * nothing. Before it is included, HELD names the array.
 */
#ifndef IOC_EXPORTER_BPF_BASE_CAPS_H
#define IOC_EXPORTER_BPF_BASE_CAPS_H

#include "shared/caps.h"

const volatile __u32 cfg_caps[IOCX_CAPPED_TABLES];

static __always_inline struct iocx_held *held_by(__u32 holder)
{
	return bpf_map_lookup_elem(&HELD, &holder);
}

static __always_inline int add_held(__u64 table, __u32 holder, __u32 more)
{
	struct iocx_held *all = held_by(IOCX_HELD_ALL), *own = held_by(holder);

	IOCX_CA_MASK(table, IOCX_CAPPED_TABLES - 1);
	if (holder == IOCX_HELD_ALL || !all || !own)
		return 0;
	__sync_fetch_and_add(&all->entries[table], more);
	__sync_fetch_and_add(&own->entries[table], more);
	return 1;
}

/*
 * Returns 0 when the holder has as many as it may, or there is no holder. Global functions, so that the verifier checks
 * them once, not at each place that calls them; none of the arguments is a pointer.
 */
__attribute__((noinline)) int take_place(__u32 table, __u32 holder)
{
	const struct iocx_held *own = held_by(holder);
	__u64 which = table;

	IOCX_CA_MASK(which, IOCX_CAPPED_TABLES - 1);
	if (!own || own->entries[which] >= cfg_caps[which])
		return 0;
	return add_held(table, holder, 1);
}

/* The same without a cap. */
__attribute__((noinline)) int add_place(__u32 table, __u32 holder)
{
	return add_held(table, holder, 1);
}

__attribute__((noinline)) int give_place(__u32 table, __u32 holder)
{
	return add_held(table, holder, -1);
}

#endif
