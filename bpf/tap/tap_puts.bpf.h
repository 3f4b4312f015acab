/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Counts puts. Part of tap/tap.bpf.c; the lock of the direction to the server is held. Most puts find the slot of
 * their channel by a hint and touch no other cache line. Rarer steps are global functions (see tap/tap.bpf.c) on
 * w->event.
 */

/* The slot of the circuit for puts on channels without one: over the bound, or after their end. */
static __always_inline __u32 shared_slot(struct work *w, struct iocx_ca_flow *flow)
{
	__u64 channel;

	if (flow->unnamed_slot != IOCX_CA_NO_SLOT)
		return flow->unnamed_slot;
	w->info.name[0] = 0;
	channel = store_info(w, flow);
	if (!channel)
		return IOCX_CA_NO_SLOT;
	flow->unnamed_slot = take_slot(flow, channel, 0, 0, IOCX_CA_SLOT_SHARED);
	if (flow->unnamed_slot == IOCX_CA_NO_SLOT)
		bpf_map_delete_elem(&ca_channel_info, &channel);
	return flow->unnamed_slot;
}

/* Takes a slot for an unknown SID, if there is one: an earlier run may have kept its name. */
static __always_inline void give_slot(struct work *w, struct iocx_ca_flow *flow,
				      const struct iocx_ca_channel_key *by_sid)
{
	__u64 channel;
	__u32 slot;

	if (flow->unnamed >= (flow->lacks_channels ? IOCX_CA_UNNAMED_PER_CIRCUIT : IOCX_CA_STRANGE_PER_CIRCUIT))
		return;
	w->info.name[0] = 0;
	channel = store_info(w, flow);
	if (!channel)
		return;
	slot = take_slot(flow, channel, by_sid->id, 0, IOCX_CA_SLOT_UNNAMED);
	if (slot == IOCX_CA_NO_SLOT) {
		bpf_map_delete_elem(&ca_channel_info, &channel);
		return;
	}
	__sync_fetch_and_add(&flow->unnamed, 1);
	if (bpf_map_update_elem(&ca_sids, by_sid, &slot, BPF_NOEXIST)) {
		end_channel(flow, slot);
		if (!bpf_map_lookup_elem(&ca_sids, by_sid)) /* full, not added meanwhile */
			__sync_fetch_and_add(&flow->unnamed, IOCX_CA_UNNAMED_PER_CIRCUIT);
	}
}

/* The slot of the channel of w->event, taken when there is none. */
static __always_inline __u32 find_slot(struct work *w, struct iocx_ca_flow *flow)
{
	struct iocx_ca_channel *element;
	struct iocx_ca_channel_key key;
	__u32 *found;

	set_channel_key(&key, flow->circuit, w->event.id);
	found = bpf_map_lookup_elem(&ca_sids, &key);
	if (!found) {
		give_slot(w, flow, &key);
		found = bpf_map_lookup_elem(&ca_sids, &key);
	}
	if (found) {
		element = bpf_map_lookup_elem(&ca_channels, found);
		if (element && is_open(element, flow->circuit))
			return *found;
	}
	return shared_slot(w, flow);
}

/* A WRITE that acknowledges an alarm is only reported to the put log. */
static __always_inline void count_put(struct work *w, struct iocx_ca_channel *element, __u32 slot)
{
	const __u64 notify = w->event.notify & 1;

	if (!w->event.acknowledges) {
		element->last_put = w->now | notify; /* before it is counted: a look at the count has its time, too */
		element->puts[notify]++;
	}
	w->pending.channel = element->channel;
	w->pending.slot = slot;
}

static __always_inline __u32 *hint_of(const struct work *w, const struct iocx_ca_flow *flow)
{
	__u64 mixed = w->event.id + flow->circuit * 61;

	IOCX_CA_MASK(mixed, HINTS - 1);
	return &slot_hints[mixed];
}

/* Counts a put whose hint is wrong. Returns 1 when it cannot be counted. */
__attribute__((noinline)) int ca_put_elsewhere(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);
	struct iocx_ca_channel *element;
	__u32 slot;

	if (!flow)
		return 1;
	slot = find_slot(w, flow);
	element = bpf_map_lookup_elem(&ca_channels, &slot);
	if (!element) {
		count_drop(IOCX_CA_DROP_LOST_PUT);
		return 1;
	}
	*hint_of(w, flow) = slot;
	count_put(w, element, slot);
	return 0;
}

/* Takes a place in ca_pending for w->pending, unless few wait. Returns 0 when there is no room. */
static __always_inline int take_pending(struct work *w, struct iocx_ca_flow *flow)
{
	const __u16 waiting =
		flow->directions[IOCX_CA_TO_SERVER].notified - flow->directions[IOCX_CA_TO_CLIENT].notified;

	w->pending.holder = waiting < IOCX_CA_FEW_PENDING && !iocx_ca_is_pva(flow->ioc) ? 0 : flow->holder;
	return !w->pending.holder || take_place(IOCX_CA_HELD_PENDING, flow->holder);
}

/* Notes when the WRITE_NOTIFY of w->event was sent. */
__attribute__((noinline)) int ca_put_asked(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);
	struct iocx_ca_channel_key key;
	struct iocx_ca_pending *head;

	if (!flow)
		return 1;
	if (!take_pending(w, flow)) {
		count_drop(IOCX_CA_DROP_OUTCOMES_FULL);
		return 0;
	}
	set_channel_key(&key, flow->circuit, w->event.other);
	w->pending.since_ns = w->now;
	if (bpf_map_update_elem(&ca_pending, &key, &w->pending, BPF_NOEXIST) == 0)
		goto noted;
	head = bpf_map_lookup_elem(&ca_pending, &key);
	if (head && head->queue.asked - head->queue.taken < IOCX_CA_QUEUE) {
		/* The IOID is in use: rsrv answers both, and those on one channel in turn (write_notify_action()). */
		key.place = head->queue.asked + 1;
		if (bpf_map_update_elem(&ca_pending, &key, &w->pending, BPF_NOEXIST) == 0) {
			head->queue.asked++;
			goto noted;
		}
	}
	give_place(IOCX_CA_HELD_PENDING, w->pending.holder);
	count_drop(IOCX_CA_DROP_OUTCOMES_FULL);
	return 0;
noted:
	flow->directions[IOCX_CA_TO_SERVER].notified++;
	return 0;
}

/* Counts the put of w->event. */
static __always_inline void take_put(struct __sk_buff *skb, struct work *w, struct iocx_ca_flow *flow)
{
	struct iocx_ca_channel *element;
	__u32 slot;

	if (is_probed(w, flow))
		return;
	slot = *hint_of(w, flow);
	element = bpf_map_lookup_elem(&ca_channels, &slot);
	if (element && element->sid == w->event.id && is_open(element, flow->circuit))
		count_put(w, element, slot);
	else if (ca_put_elsewhere(skb))
		return;
	on_put(skb);
	if (w->event.notify)
		ca_put_asked(skb);
}

/* Counts a put whose last byte was sent but not seen. */
__attribute__((noinline)) int ca_finished_put(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);

	if (!flow)
		return 1;
	take_put(skb, w, flow);
	return 0;
}
