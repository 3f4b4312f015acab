/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Messages that make and end channels. Part of tap/tap.bpf.c; the lock of the message's direction is held.
 *
 * A channel is made in two steps: the client's CREATE_CHAN stores name and identity under a new id and enters the
 * id for the CID; the server's answer takes a slot and enters it for the SID. When a channel ends, its slot is
 * marked: the counts stay until user space has read them. The SID leads to the slot until the server has confirmed
 * the end, since answers to earlier puts may still come.
 */

/*
 * The name of a CREATE_CHAN as rsrv reads it: up to a zero byte, or to the last byte of the payload, which it
 * overwrites (claim_ciu_action()). Returns 0 when there is none; then the server says nothing.
 */
static __always_inline int read_channel_name(struct work *w, const struct iocx_ca_event *event)
{
	__u8 *name = (__u8 *)w->info.name;
	__u64 last = event->size;
	__u32 at = event->at;

	if (last <= 1)
		return 0;
	IOCX_CA_MASK(at, 2 * IOCX_CA_REACH - 1);
	if (at > IOCX_CA_REACH + IOCX_CA_LONG_HEADER)
		return 0;
	iocx_ca_copy(name, w->window.bytes + at, IOCX_CA_NAME);
	if (w->window.header.size > IOCX_CA_NAME && name[IOCX_CA_NAME - 1] != 0)
		count_drop(IOCX_CA_DROP_NAME_CUT);
	/* Here, on a register: the verifier of 5.10 forgets the bounds of values on the stack. */
	last = event->size - 1;
	IOCX_CA_OPAQUE(last);
	if (last < IOCX_CA_NAME)
		name[last] = 0; /* the bytes behind it belong to other messages */
	return 1;
}

/* The client asks for the channel whose name is in w->info. */
static __always_inline void request_channel(struct work *w, struct iocx_ca_flow *flow, __u32 cid)
{
	struct iocx_ca_cid request = {.slot = IOCX_CA_NO_SLOT, .access = IOCX_CA_ACCESS_UNKNOWN};
	struct iocx_ca_channel_key key;
	struct iocx_ca_cid *known;

	if (!take_place(IOCX_CA_HELD_REQUESTS, flow->holder)) {
		count_drop(IOCX_CA_DROP_CHANNELS_FULL);
		return;
	}
	set_channel_key(&key, flow->circuit, cid);
	known = bpf_map_lookup_elem(&ca_cids, &key);
	request.channel = known && known->slot == IOCX_CA_NO_SLOT ? 0 : store_info(w, flow);
	if (request.channel && bpf_map_update_elem(&ca_cids, &key, &request, BPF_ANY) == 0)
		return;
	if (request.channel)
		bpf_map_delete_elem(&ca_channel_info, &request.channel);
	give_place(IOCX_CA_HELD_REQUESTS, flow->holder);
	count_drop(IOCX_CA_DROP_CHANNELS_FULL);
}

/* The client has found the channel of w->event that it searched for. Global, so that the verifier checks it once. */
__attribute__((noinline)) int ca_found(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);
	struct iocx_ca_search *search;
	__u32 at;

	if (!flow)
		return 1;
	at = w->event.at;
	IOCX_CA_MASK(at, 2 * IOCX_CA_REACH - 1);
	if (at > IOCX_CA_REACH + IOCX_CA_LONG_HEADER)
		return 1;
	iocx_ca_read_name((__u64 *)w->search.name, w->window.bytes + at, w->window.header.size);
	w->search.client = w->key.client;
	search = bpf_map_lookup_elem(&ca_searches, &w->search);
	if (search)
		search->found = 1;
	return 0;
}

static __always_inline void on_create(struct work *w, struct iocx_ca_flow *flow, const struct iocx_ca_event *event)
{
	if (is_probed(w, flow))
		flow->lacks_channels = 1;
	else if (read_channel_name(w, event))
		request_channel(w, flow, event->id);
}

/* The request for the CID, which has no place any more: the server has answered it. Null: none was seen. */
static __always_inline struct iocx_ca_cid *end_request(struct iocx_ca_flow *flow,
						       const struct iocx_ca_channel_key *by_cid)
{
	struct iocx_ca_cid *request = bpf_map_lookup_elem(&ca_cids, by_cid);

	if (!request || request->slot != IOCX_CA_NO_SLOT)
		return 0;
	give_place(IOCX_CA_HELD_REQUESTS, flow->holder);
	return request;
}

/* The request has failed, or there is no room for its channel. */
static __always_inline void forget_request(const struct iocx_ca_channel_key *by_cid, const struct iocx_ca_cid *request)
{
	__u64 channel = request->channel;

	bpf_map_delete_elem(&ca_channel_info, &channel);
	bpf_map_delete_elem(&ca_cids, by_cid);
}

static __always_inline void on_created(struct iocx_ca_flow *flow, __u32 cid, __u32 sid, __u32 elements)
{
	struct iocx_ca_channel_key by_cid, by_sid;
	struct iocx_ca_channel *element;
	struct iocx_ca_cid *request;
	__u32 slot, *known;

	set_channel_key(&by_cid, flow->circuit, cid);
	request = end_request(flow, &by_cid);
	if (!request)
		return; /* it was requested before the tap saw the circuit */
	set_channel_key(&by_sid, flow->circuit, sid);
	known = bpf_map_lookup_elem(&ca_sids, &by_sid);
	if (known)
		end_channel(flow, *known); /* the end of the earlier channel was not seen */
	slot = take_slot(flow, request->channel, sid, cid, IOCX_CA_SLOT_LIVE);
	element = bpf_map_lookup_elem(&ca_channels, &slot);
	if (!element) {
		count_drop(IOCX_CA_DROP_CHANNELS_FULL);
		forget_request(&by_cid, request);
		bpf_map_delete_elem(&ca_sids, &by_sid);
		return;
	}
	element->access = request->access;
	element->elements = elements;
	request->slot = slot;
	__sync_fetch_and_add(&flow->channels, 1);
	if (bpf_map_update_elem(&ca_sids, &by_sid, &slot, BPF_ANY)) {
		count_drop(IOCX_CA_DROP_CHANNELS_FULL);
		end_channel(flow, slot);
	}
}

static __always_inline void on_failed(struct iocx_ca_flow *flow, __u32 cid)
{
	struct iocx_ca_channel_key key;
	struct iocx_ca_cid *request;

	set_channel_key(&key, flow->circuit, cid);
	request = end_request(flow, &key);
	if (request)
		forget_request(&key, request);
}

static __always_inline void on_clear(struct iocx_ca_flow *flow, __u32 sid)
{
	struct iocx_ca_channel_key key;
	__u32 *slot;

	set_channel_key(&key, flow->circuit, sid);
	slot = bpf_map_lookup_elem(&ca_sids, &key);
	if (slot)
		end_channel(flow, *slot);
}

/*
 * The server has confirmed the end: no message for the channel follows. When it is still open, the client has closed
 * it before it had the SID.
 */
static __always_inline void on_clear_done(struct iocx_ca_flow *flow, __u32 sid)
{
	struct iocx_ca_channel *element;
	struct iocx_ca_channel_key key;
	__u32 *slot;

	set_channel_key(&key, flow->circuit, sid);
	slot = bpf_map_lookup_elem(&ca_sids, &key);
	if (!slot)
		return;
	element = bpf_map_lookup_elem(&ca_channels, slot);
	if (element && element->circuit == flow->circuit &&
	    (element->state == IOCX_CA_SLOT_ENDED || end_channel(flow, *slot)))
		bpf_map_delete_elem(&ca_sids, &key);
}

static __always_inline void on_disconnect(struct iocx_ca_flow *flow, __u32 cid)
{
	struct iocx_ca_channel *element;
	struct iocx_ca_channel_key key;
	struct iocx_ca_cid *by_cid;
	__u32 slot;

	flow->counts[IOCX_CA_COUNT_DISCONNECTS]++;
	set_channel_key(&key, flow->circuit, cid);
	by_cid = bpf_map_lookup_elem(&ca_cids, &key);
	if (!by_cid)
		return;
	slot = by_cid->slot;
	element = bpf_map_lookup_elem(&ca_channels, &slot);
	if (!element)
		return; /* not answered yet */
	key.id = element->sid;
	if (end_channel(flow, slot))
		bpf_map_delete_elem(&ca_sids, &key);
}

/* While there are channels, rsrv refuses another name (host_name_action, client_name_action). */
static __always_inline void on_identity(struct work *w, struct iocx_ca_flow *flow, __u8 *to,
					const struct iocx_ca_event *event)
{
	__u32 at = event->at, size = event->size;

	if (flow->channels > 0)
		return;
	IOCX_CA_MASK(at, 2 * IOCX_CA_REACH - 1);
	if (at > IOCX_CA_REACH + IOCX_CA_LONG_HEADER)
		return;
	iocx_ca_copy(to, w->window.bytes + at, IOCX_CA_IDENTITY);
	if (size < IOCX_CA_IDENTITY) {
		to[size] = 0;
	} else if (to[IOCX_CA_IDENTITY - 1] != 0) {
		to[IOCX_CA_IDENTITY - 1] = 0;
		count_drop(IOCX_CA_DROP_NAME_CUT);
	}
}

/* Returns 1 when the remainder of the segment need not be read. */
static __always_inline int on_event(struct work *w, struct iocx_ca_flow *flow, const struct iocx_ca_event *event)
{
	switch (event->kind) {
	case IOCX_CA_CREATE:
		on_create(w, flow, event);
		return 0;
	case IOCX_CA_CREATED:
		on_created(flow, event->id, event->other, w->window.header.count);
		return 0;
	case IOCX_CA_FAILED:
		on_failed(flow, event->id);
		return 0;
	case IOCX_CA_CLEAR:
		on_clear(flow, event->id);
		return 0;
	case IOCX_CA_CLEAR_DONE:
		on_clear_done(flow, event->id);
		return 0;
	case IOCX_CA_DISCONNECT:
		on_disconnect(flow, event->id);
		return 0;
	case IOCX_CA_USER:
		on_identity(w, flow, (__u8 *)flow->identity.user, event);
		return 0;
	case IOCX_CA_HOST:
		on_identity(w, flow, (__u8 *)flow->identity.host, event);
		return 0;
	case IOCX_CA_REFUSED_ALL:
		flow->refused_ns = w->now;
		count_drop(IOCX_CA_DROP_REFUSED);
		return 1;
	default: /* IOCX_CA_NOT_CA: rsrv 7.0 answers with an error and reads on */
		count_drop(IOCX_CA_DROP_NOT_CA);
		return 0;
	}
}
