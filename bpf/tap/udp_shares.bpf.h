/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Each entry of a table is held by one and by a group (shared/ca_udp_shares.h). Part of tap/udp.bpf.c. A share is given
 * back by who removes the entry, in the kernel and in user space alike.
 */

/* Elements of each table. */
const volatile __u32 cfg_udp_room[IOCX_CA_UDP_SHARES];

static __always_inline struct iocx_ca_udp_share *udp_share_at(__u32 index)
{
	return bpf_map_lookup_elem(&ca_udp_shares, &index);
}

static __always_inline void add_to_udp_shares(__u32 table, const struct iocx_ca_udp_holder *holder, __u32 what)
{
	struct iocx_ca_udp_share *all = udp_share_at(IOCX_CA_UDP_SHARE_ALL), *one = udp_share_at(holder->one);
	struct iocx_ca_udp_share *group = udp_share_at(holder->group);

	if (!all || !one || !group)
		return;
	__sync_fetch_and_add(&all->held[table], what);
	__sync_fetch_and_add(&one->held[table], what);
	__sync_fetch_and_add(&group->held[table], what);
}

/* Whether there is room for one more of this holder's. */
static __always_inline int udp_holder_may(__u32 table, const struct iocx_ca_udp_holder *holder)
{
	struct iocx_ca_udp_share *all = udp_share_at(IOCX_CA_UDP_SHARE_ALL), *one = udp_share_at(holder->one);
	struct iocx_ca_udp_share *group = udp_share_at(holder->group);
	const __u32 room = cfg_udp_room[table];
	__s32 left;

	if (!all || !one || !group)
		return 0;
	left = (__s32)(room - all->held[table]);
	return left > 0 && iocx_one_may(one->held[table], left, room / 2) &&
	       iocx_group_may(group->held[table], one->held[table], left, room / 2);
}

/* Adds a copy of `*fresh` for the holder and returns the value of the key; NULL: there is no room. */
static __always_inline void *add_for_holder(void *map, __u32 table, const void *key, const void *fresh,
					    const struct iocx_ca_udp_holder *holder)
{
	if (!udp_holder_may(table, holder))
		return 0;
	if (!bpf_map_update_elem(map, key, fresh, BPF_NOEXIST))
		add_to_udp_shares(table, holder, 1);
	return bpf_map_lookup_elem(map, key);
}
