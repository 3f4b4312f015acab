/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Each entry of a table is held by a circuit and by its client's address (shared/ca_shares.h). Part of
 * tap/tap.bpf.c.
 * Who adds an entry takes a share first, who removes it gives the share back, in the kernel and in user space alike.
 */

/* Elements of each table. */
const volatile __u32 cfg_room[IOCX_CA_SHARES];

/* With the table: take the share even where the holder has too much. */
#define SHARE_ANYHOW 16u

static __always_inline struct iocx_ca_share *share_at(__u32 index)
{
	return bpf_map_lookup_elem(&ca_shares, &index);
}

/*
 * Returns 0 when there is no room for this holder. `circuit` 0: only the address holds it. A global function, so that
 * the verifier checks it once; none of its arguments is a pointer.
 */
__attribute__((noinline)) int ca_take_share(__u32 table, __u64 circuit, __u32 address)
{
	struct iocx_ca_share *all = share_at(IOCX_CA_SHARE_ALL), *theirs = share_at(address);
	struct iocx_ca_share *own = share_at(iocx_ca_share_of_circuit(circuit));
	const __u32 kept = iocx_ca_share_kept(address);
	__u64 which = table;
	__u32 room, reserve;
	__s32 left;

	IOCX_CA_MASK(which, IOCX_CA_SHARES - 1);
	if (!all || !own || !theirs)
		return 0;
	if (!(table & SHARE_ANYHOW)) {
		room = cfg_room[which];
		left = (__s32)(room - all->held[which]);
		if (left <= (__s32)(room / kept))
			return 0;
		reserve = iocx_ca_share_reserve(table, room);
		if (circuit && !iocx_one_may(own->held[which], left, reserve))
			return 0;
		if ((address != IOCX_CA_SHARE_LOCAL || !circuit) &&
		    !iocx_group_may(theirs->held[which], circuit ? own->held[which] : room, left, reserve))
			return 0;
	}
	__sync_fetch_and_add(&all->held[which], 1);
	__sync_fetch_and_add(&theirs->held[which], 1);
	if (circuit)
		__sync_fetch_and_add(&own->held[which], 1);
	return 1;
}

__attribute__((noinline)) int ca_give_share(__u32 table, __u64 circuit, __u32 address)
{
	struct iocx_ca_share *all = share_at(IOCX_CA_SHARE_ALL), *theirs = share_at(address);
	struct iocx_ca_share *own = share_at(iocx_ca_share_of_circuit(circuit));
	__u64 which = table;

	IOCX_CA_MASK(which, IOCX_CA_SHARES - 1);
	if (!all || !own || !theirs)
		return 0;
	__sync_fetch_and_add(&all->held[which], -1);
	__sync_fetch_and_add(&theirs->held[which], -1);
	if (circuit)
		__sync_fetch_and_add(&own->held[which], -1);
	return 1;
}
