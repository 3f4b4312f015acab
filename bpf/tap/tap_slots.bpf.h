/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Slots: elements of ca_channels, each of which counts one channel, and the maps that lead to them. Part of
 * tap/tap.bpf.c.
 */

static __always_inline void set_channel_key(struct iocx_ca_channel_key *key, __u64 circuit, __u32 id)
{
	key->circuit = circuit;
	key->id = id;
	key->place = 0;
}

/* Stores name and client of a channel under a new id; 0 when there is no room. w->info.name must be set. */
static __always_inline __u64 store_info(struct work *w, const struct iocx_ca_flow *flow)
{
	struct iocx_ca_channel_info *info = &w->info;
	const __u64 channel = new_id(w);

	info->circuit = flow->circuit;
	info->client = w->key.client;
	info->ioc = flow->ioc;
	info->client_port = w->key.client_port;
	info->server_port = w->key.server_port;
	info->holder = flow->holder;
	iocx_ca_copy((__u8 *)&info->identity, (const __u8 *)&flow->identity, sizeof info->identity);
	if (bpf_map_update_elem(&ca_channel_info, &channel, info, BPF_NOEXIST))
		return 0;
	return channel;
}

/*
 * Takes a slot for the channel, or returns IOCX_CA_NO_SLOT. User space has set the counts of free slots to 0. The
 * shared slot of a circuit, without which its puts would be lost, is there as long as there is any.
 */
static __always_inline __u32 take_slot(const struct iocx_ca_flow *flow, __u64 channel, __u32 sid, __u32 cid,
				       __u32 state)
{
	struct iocx_ca_channel *element;
	__u32 slot;

	if (state == IOCX_CA_SLOT_SHARED)
		add_place(IOCX_CA_HELD_CHANNELS, flow->holder);
	else if (!take_place(IOCX_CA_HELD_CHANNELS, flow->holder))
		return IOCX_CA_NO_SLOT;
	element = bpf_map_pop_elem(&ca_free_slots, &slot) ? 0 : bpf_map_lookup_elem(&ca_channels, &slot);
	if (!element) {
		give_place(IOCX_CA_HELD_CHANNELS, flow->holder);
		return IOCX_CA_NO_SLOT;
	}
	element->channel = channel;
	element->circuit = flow->circuit;
	element->sid = sid;
	element->cid = cid;
	element->access = IOCX_CA_ACCESS_UNKNOWN;
	/* Last: user space and the hints use a slot by its state only. The addition to FREE, 0, is atomic, the only
	 * ordered store that Linux 5.10 has. */
	__sync_fetch_and_add(&element->state, state);
	return slot;
}

/* Whether the slot holds a channel of the circuit that has not ended. */
static __always_inline int is_open(const struct iocx_ca_channel *element, __u64 circuit)
{
	return element->circuit == circuit &&
	       (element->state == IOCX_CA_SLOT_LIVE || element->state == IOCX_CA_SLOT_UNNAMED);
}

/*
 * Ends the channel in `slot`; its CID may be used again at once. Returns 0 when there is none. The caller deals with
 * the entry of the SID.
 */
static __always_inline int end_channel(struct iocx_ca_flow *flow, __u32 slot)
{
	struct iocx_ca_channel *element = bpf_map_lookup_elem(&ca_channels, &slot);
	struct iocx_ca_channel_key key;
	struct iocx_ca_cid *by_cid;

	if (!element || !is_open(element, flow->circuit))
		return 0;
	if (element->state == IOCX_CA_SLOT_LIVE) {
		set_channel_key(&key, element->circuit, element->cid);
		by_cid = bpf_map_lookup_elem(&ca_cids, &key);
		if (by_cid && by_cid->channel == element->channel)
			bpf_map_delete_elem(&ca_cids, &key);
		__sync_fetch_and_add(&flow->channels, -1);
	}
	element->state = IOCX_CA_SLOT_ENDED;
	return 1;
}
