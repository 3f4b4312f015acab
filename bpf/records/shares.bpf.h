/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Each entry of a table that the IOCs share is held by an IOC and by its user (shared/record_shares.h). Programs take a
 * share before they add an entry; user space, which removes entries, gives it back. An entry that is there costs nothing.
 */
#ifndef IOC_EXPORTER_BPF_RECORD_SHARES_H
#define IOC_EXPORTER_BPF_RECORD_SHARES_H

/* Elements of each table. */
const volatile __u32 cfg_room[IOCX_RECORD_SHARES];

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, IOCX_SHARE_BUCKETS);
	__type(key, __u32);
	__type(value, struct iocx_record_share);
} record_shares SEC(".maps");

/* With the table: take the share even where the holder has too much. */
#define SHARE_ANYHOW 16u

static __always_inline struct iocx_record_share *share_at(__u32 index)
{
	return bpf_map_lookup_elem(&record_shares, &index);
}

/*
 * Returns 0 when there is no room for this holder. Global functions, so that the verifier checks them once, not at each
 * place that calls them; none of the arguments is a pointer.
 */
__attribute__((noinline)) int take_record_share(__u32 table, __u32 ioc, __u32 user)
{
	struct iocx_record_share *all = share_at(IOCX_SHARE_ALL), *own = share_at(ioc), *theirs = share_at(user);
	__u64 which = table;

	IOCX_CA_MASK(which, IOCX_RECORD_SHARES - 1);
	if (!ioc || !all || !own || !theirs)
		return 0;
	if (!(table & SHARE_ANYHOW) &&
	    !iocx_holder_may(cfg_room[which], all->held[which], own->held[which], theirs->held[which]))
		return 0;
	__sync_fetch_and_add(&all->held[which], 1);
	__sync_fetch_and_add(&own->held[which], 1);
	__sync_fetch_and_add(&theirs->held[which], 1);
	return 1;
}

__attribute__((noinline)) int give_record_share(__u32 table, __u32 ioc, __u32 user)
{
	struct iocx_record_share *all = share_at(IOCX_SHARE_ALL), *own = share_at(ioc), *theirs = share_at(user);
	__u64 which = table;

	IOCX_CA_MASK(which, IOCX_RECORD_SHARES - 1);
	if (!ioc || !all || !own || !theirs)
		return 0;
	__sync_fetch_and_add(&all->held[which], -1);
	__sync_fetch_and_add(&own->held[which], -1);
	__sync_fetch_and_add(&theirs->held[which], -1);
	return 1;
}

#endif
