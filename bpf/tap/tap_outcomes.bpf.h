/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Answers to puts, and the other messages of a circuit: access rights, monitors, flow control. Part of
 * tap/tap.bpf.c; the lock of the message's direction is held.
 *
 * A WRITE_NOTIFY stands in ca_pending until it is answered. A WRITE is answered only when it failed, by ERROR. rsrv
 * also answers a WRITE_NOTIFY by ERROR when it cannot accept it at all (camessage(): ECA_TOLARGE, a bad SID).
 * Durations and failures are kept by channel; user space deletes them with the channel.
 */

/* The slot of the SID, whose channel may have just ended; or the shared slot of the circuit. */
static __always_inline struct iocx_ca_channel *channel_of(struct iocx_ca_flow *flow, __u32 sid, __u32 *slot)
{
	struct iocx_ca_channel *element;
	struct iocx_ca_channel_key key;
	__u32 *found;

	set_channel_key(&key, flow->circuit, sid);
	found = bpf_map_lookup_elem(&ca_sids, &key);
	*slot = found ? *found : flow->unnamed_slot;
	element = bpf_map_lookup_elem(&ca_channels, slot);
	if (element && element->circuit != flow->circuit)
		return 0;
	return element;
}

static __always_inline void add_failure(const struct iocx_ca_flow *flow, __u64 channel, __u32 slot, __u32 status)
{
	struct iocx_ca_failure_key key = {.channel = channel, .status = status};
	struct iocx_ca_failure first = {.count = 1, .slot = slot, .holder = flow->holder};
	struct iocx_ca_failure *failure = bpf_map_lookup_elem(&ca_failures, &key);

	if (failure) {
		failure->count++; /* not atomic: the lock of the direction to the client is held */
		return;
	}
	if (take_place(IOCX_CA_HELD_FAILURES, flow->holder)) {
		if (bpf_map_update_elem(&ca_failures, &key, &first, BPF_NOEXIST) == 0)
			return;
		give_place(IOCX_CA_HELD_FAILURES, flow->holder);
	}
	count_drop(IOCX_CA_DROP_OUTCOMES_FULL);
}

/* Durations of the channel, made when there are none yet; null: no room. */
static __always_inline struct iocx_ca_outcome *outcome_of(struct work *w, const struct iocx_ca_flow *flow,
							  const struct iocx_ca_pending *pending)
{
	const __u64 channel = pending->channel;
	struct iocx_ca_outcome *outcome = bpf_map_lookup_elem(&ca_outcomes, &channel);

	if (outcome || !take_place(IOCX_CA_HELD_OUTCOMES, flow->holder))
		return outcome;
	w->fresh_outcome.holder = flow->holder;
	w->fresh_outcome.slot = pending->slot; /* its other members stay 0 */
	if (bpf_map_update_elem(&ca_outcomes, &channel, &w->fresh_outcome, BPF_NOEXIST))
		give_place(IOCX_CA_HELD_OUTCOMES, flow->holder);
	return bpf_map_lookup_elem(&ca_outcomes, &channel);
}

static __always_inline void add_put_duration(struct work *w, const struct iocx_ca_flow *flow,
					     const struct iocx_ca_pending *pending)
{
	struct iocx_ca_outcome *outcome = outcome_of(w, flow, pending);
	const __s64 ns = w->now - pending->since_ns;

	if (!outcome) {
		count_drop(IOCX_CA_DROP_OUTCOMES_FULL);
		return;
	}
	add_duration(&outcome->sum_ns, outcome->buckets, ns < 0 ? 0 : ns);
}

/* Removes an entry of ca_pending, unless user space has. */
static __always_inline void end_pending(struct iocx_ca_flow *flow, const struct iocx_ca_channel_key *key,
					const struct iocx_ca_pending *pending)
{
	const __u32 holder = pending->holder;

	if (bpf_map_delete_elem(&ca_pending, key))
		return;
	flow->directions[IOCX_CA_TO_CLIENT].notified++;
	give_place(IOCX_CA_HELD_PENDING, holder);
}

/* The server has answered the WRITE_NOTIFY with that IOID. Returns 0 when the request was not seen. */
static __always_inline int on_answer(struct work *w, struct iocx_ca_flow *flow, __u32 ioid, __u32 status)
{
	struct iocx_ca_pending *pending, *next;
	struct iocx_ca_channel_key key;

	set_channel_key(&key, flow->circuit, ioid);
	pending = bpf_map_lookup_elem(&ca_pending, &key);
	if (!pending)
		return 0;
	add_put_duration(w, flow, pending);
	on_put_ended(w, flow, pending->since_ns, ioid, status);
	if (status != IOCX_CA_NORMAL)
		add_failure(flow, pending->channel, pending->slot, status);
	if (pending->queue.asked == pending->queue.taken) {
		end_pending(flow, &key, pending);
		return 1;
	}
	pending->queue.taken++;
	key.place = pending->queue.taken;
	next = bpf_map_lookup_elem(&ca_pending, &key);
	if (next) {
		pending->since_ns = next->since_ns;
		pending->channel = next->channel;
		pending->slot = next->slot;
		end_pending(flow, &key, next);
	}
	return 1;
}

/* The server has answered a request: it may be the one that proves the boundaries to it. */
static __always_inline void note_answer(struct iocx_ca_flow *flow, __u32 ioid)
{
	if (flow->asked == (IOCX_CA_ASKED | ioid))
		flow->asked = IOCX_CA_ANSWERED;
}

static __always_inline void on_subscribe(struct iocx_ca_flow *flow, __u32 sid, const int opens)
{
	struct iocx_ca_channel *element;
	__u32 slot;

	element = channel_of(flow, sid, &slot);
	if (!element || element->sid != sid || !is_open(element, flow->circuit))
		return;
	if (opens)
		__sync_fetch_and_add(&element->monitors, 1);
	else if (element->monitors)
		__sync_fetch_and_add(&element->monitors, -1);
}

/* Returns 1 when the event has become one of a channel. */
static __always_inline int on_error(struct work *w, struct iocx_ca_flow *flow)
{
	struct iocx_ca_event *event = &w->event;
	struct iocx_ca_channel *element;
	__u32 at = event->at, slot;

	IOCX_CA_MASK(at, 2 * IOCX_CA_REACH - 1);
	if (at > IOCX_CA_REACH + IOCX_CA_LONG_HEADER)
		return 0;
	iocx_ca_read_error(event, w->window.bytes + at);
	if (event->failed == IOCX_CA_CMD_EVENT_ADD) {
		on_subscribe(flow, event->id, 0);
		return 0;
	}
	if (event->failed == IOCX_CA_CMD_CREATE_CHAN) {
		event->kind = IOCX_CA_FAILED; /* in place of CREATE_CH_FAIL */
		return 1;
	}
	if (event->failed == IOCX_CA_CMD_WRITE_NOTIFY) {
		if (on_answer(w, flow, event->ioid, event->other))
			return 0;
	} else if (event->failed != IOCX_CA_CMD_WRITE) {
		return 0;
	}
	if (event->acknowledges || is_probed(w, flow))
		return 0;
	element = channel_of(flow, event->id, &slot);
	if (element)
		add_failure(flow, element->channel, slot, event->other);
	else
		count_drop(IOCX_CA_DROP_ORPHAN_ANSWER);
	return 0;
}

static __always_inline void on_rights(struct iocx_ca_flow *flow, __u32 cid, __u32 rights)
{
	struct iocx_ca_channel *element;
	struct iocx_ca_channel_key key;
	struct iocx_ca_cid *by_cid;
	__u32 slot;

	set_channel_key(&key, flow->circuit, cid);
	by_cid = bpf_map_lookup_elem(&ca_cids, &key);
	if (!by_cid)
		return;
	by_cid->access = rights & IOCX_CA_ACCESS_READ_WRITE;
	slot = by_cid->slot;
	element = bpf_map_lookup_elem(&ca_channels, &slot);
	if (element && element->channel == by_cid->channel)
		element->access = rights & IOCX_CA_ACCESS_READ_WRITE;
}

/*
 * Handles an event that is no put and neither makes nor ends a channel. Returns 1 when it turns out to be one that
 * does: ca_event() is to handle it.
 */
__attribute__((noinline)) int ca_outcome(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);

	if (!flow)
		return 0;
	if (w->event.kind == IOCX_CA_WRITTEN)
		note_answer(flow, w->event.other);
	switch (w->event.kind) {
	case IOCX_CA_RIGHTS:
		on_rights(flow, w->event.id, w->event.other);
		break;
	case IOCX_CA_SUBSCRIBE:
		on_subscribe(flow, w->event.id, 1);
		break;
	case IOCX_CA_UNSUBSCRIBE:
		on_subscribe(flow, w->event.id, 0);
		break;
	case IOCX_CA_PAUSE:
		flow->events_off = 1;
		break;
	case IOCX_CA_RESUME:
		flow->events_off = 0;
		break;
	case IOCX_CA_WRITTEN:
		if (!on_answer(w, flow, w->event.other, w->event.id) && !is_probed(w, flow))
			count_drop(IOCX_CA_DROP_ORPHAN_ANSWER);
		break;
	case IOCX_CA_ERROR:
		return on_error(w, flow);
	default:
		break;
	}
	return 0;
}

/* Counts new bytes of a direction. */
static __always_inline void count_bytes(struct iocx_ca_flow *flow, __u32 direction, __u32 bytes)
{
	if (direction == IOCX_CA_TO_SERVER)
		flow->counts[IOCX_CA_COUNT_RECEIVED] += bytes;
	else
		flow->counts[IOCX_CA_COUNT_SENT] += bytes;
}

/* Counts bytes to the server that will not be read. */
static __always_inline void count_unread(struct iocx_ca_flow *flow, __u32 direction, __u32 bytes)
{
	if (direction == IOCX_CA_TO_SERVER)
		flow->counts[IOCX_CA_COUNT_UNREAD] += bytes;
}

/* Counts a message of kind IOCX_CA_GET, IOCX_CA_ECHO or IOCX_CA_UPDATE. */
static __always_inline void count_message(struct iocx_ca_flow *flow, __u32 kind)
{
	__u64 index = kind - IOCX_CA_GET;

	IOCX_CA_MASK(index, IOCX_CA_COUNT_ROOM - 1);
	flow->counts[index]++;
}
