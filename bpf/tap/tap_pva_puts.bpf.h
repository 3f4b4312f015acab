/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Puts by PV Access, their requests and their answers. Part of tap/tap.bpf.c; the lock of the message's direction is held.
 *
 * A put belongs to the channel of its request, which the client has set up under an IOID; pvxs does not look at the SID
 * beside it. So a request for puts stands in ca_pending from its INIT to its end, with the channel that its SID named.
 * Where none is known (the tap came late, or there was no room), a put belongs to its SID.
 */

/* Notes a request with the channel of w->pending. */
static __always_inline void keep_request(struct work *w, struct iocx_ca_flow *flow,
					 const struct iocx_ca_channel_key *by_ioid, __u64 since_ns)
{
	if (take_pending(w, flow)) {
		w->request.since_ns = since_ns;
		w->request.channel = w->pending.channel;
		w->request.slot = w->pending.slot;
		w->request.holder = w->pending.holder;
		w->request.queue.asked = w->pva.command;
		/* Servers do not look at the bit in an INIT. */
		w->request.queue.taken = since_ns && (w->pva.sub & IOCX_PVA_SUB_DESTROY);
		if (bpf_map_update_elem(&ca_pending, by_ioid, &w->request, BPF_NOEXIST) == 0) {
			flow->directions[IOCX_CA_TO_SERVER].notified++;
			return;
		}
		give_place(IOCX_CA_HELD_PENDING, w->request.holder);
	}
	count_drop(IOCX_CA_DROP_OUTCOMES_FULL);
}

/* The client has ended the request. */
static __always_inline void drop_request(struct iocx_ca_flow *flow, const struct iocx_ca_channel_key *by_ioid,
					 const struct iocx_ca_pending *request)
{
	const __u32 holder = request->holder;

	if (bpf_map_delete_elem(&ca_pending, by_ioid))
		return;
	flow->directions[IOCX_CA_TO_SERVER].notified--;
	give_place(IOCX_CA_HELD_PENDING, holder);
}

/* The client may have asked for the end. By another command it has not: pvxs passes over some, under any IOID. */
static __always_inline void end_with_answer(const struct work *w, struct iocx_ca_pending *request)
{
	if ((w->pva.sub & IOCX_PVA_SUB_DESTROY) && request->queue.asked == w->pva.command)
		request->queue.taken = 1;
}

/* A request for puts is set up. An IOID that is used again stands for the new one. */
static __always_inline void on_pva_init(struct work *w, struct iocx_ca_flow *flow)
{
	struct iocx_ca_channel_key key;
	struct iocx_ca_channel *element;
	struct iocx_ca_pending *request;
	__u32 slot;

	element = channel_of(flow, w->pva.id, &slot);
	if (element && (element->sid != w->pva.id || !is_open(element, flow->circuit)))
		element = 0;
	set_channel_key(&key, flow->circuit, w->pva.other);
	request = bpf_map_lookup_elem(&ca_pending, &key);
	/* pvxs does nothing at PUT_GET: the IOID stays that of the other request. */
	if (request && w->pva.command == IOCX_PVA_CMD_PUT_GET && request->queue.asked != w->pva.command)
		return;
	if (!element) {
		if (request)
			drop_request(flow, &key, request);
		return;
	}
	if (request) {
		request->since_ns = 0;
		request->channel = element->channel;
		request->slot = slot;
		request->queue.asked = w->pva.command;
		request->queue.taken = 0;
		return;
	}
	w->pending.channel = element->channel;
	w->pending.slot = slot;
	keep_request(w, flow, &key, 0);
}

/* The slot for the put of w->event; `request`: of its IOID, or null. */
static __always_inline __u32 pva_slot(struct work *w, struct iocx_ca_flow *flow, const struct iocx_ca_pending *request)
{
	struct iocx_ca_channel *element;
	__u32 slot;

	if (!request)
		return find_slot(w, flow);
	slot = request->slot;
	element = bpf_map_lookup_elem(&ca_channels, &slot);
	if (element && element->channel == request->channel && is_open(element, flow->circuit))
		return slot;
	return shared_slot(w, flow); /* the channel has ended, and the request with it */
}

/*
 * Counts the put of w->pva, unless it names no channel of the circuit while the boundaries are unconfirmed: then they are
 * searched for again.
 */
__attribute__((noinline)) int pva_put(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);
	struct iocx_ca_channel *element;
	struct iocx_ca_channel_key key;
	struct iocx_ca_pending *request;
	__u32 slot;

	if (!flow)
		return 1;
	set_channel_key(&key, flow->circuit, w->pva.other);
	request = bpf_map_lookup_elem(&ca_pending, &key);
	w->event.id = w->pva.id;
	w->event.notify = w->pva.command == IOCX_PVA_CMD_RPC;
	w->event.acknowledges = 0;
	if (!request && flow->directions[IOCX_CA_TO_SERVER].stream.sync == IOCX_CA_REGAINED && ca_refuses_put(skb))
		return 0;
	slot = pva_slot(w, flow, request);
	element = bpf_map_lookup_elem(&ca_channels, &slot);
	if (!element) {
		count_drop(IOCX_CA_DROP_LOST_PUT);
		return 0;
	}
	count_put(w, element, slot);
	w->event.other = w->pva.other;
	w->event.at = IOCX_CA_FINISHED; /* its value is not read */
	on_put(skb);
	if (!request) {
		keep_request(w, flow, &key, w->now);
		return 0;
	}
	request->channel = element->channel;
	request->slot = slot;
	request->since_ns = w->now;
	end_with_answer(w, request);
	return 0;
}

/* Why a put has failed, by the words of QSRV 1 and 2 (Put, Process) and of pvAccessCPP, after type and size. */
static __always_inline __u32 pva_failure(const struct work *w)
{
	__u32 at = w->pva.at, first, second, third;

	IOCX_CA_MASK(at, 2 * IOCX_CA_REACH - 1);
	if (w->pva.size < 14 || at > IOCX_CA_REACH + 16)
		return IOCX_CA_PUT_FAILED;
	first = iocx_ca_u32(w->window.bytes + at + 2);
	second = iocx_ca_u32(w->window.bytes + at + 6);
	third = iocx_ca_u32(w->window.bytes + at + 10);
	if ((first == 0x50757420 /* "Put " */ && second == 0x6E6F7420 /* "not " */ &&
	     third == 0x7065726D /* "perm" */) ||
	    (first == 0x50726F63 /* "Proc" */ && second == 0x65737320 /* "ess " */ &&
	     third == 0x6E6F7420 /* "not " */) ||
	    (first == 0x6E6F2077 /* "no w" */ && second == 0x72697465 /* "rite" */ && third == 0x20616363 /* " acc" */))
		return IOCX_CA_NO_WRITE_ACCESS;
	return IOCX_CA_PUT_FAILED;
}

/* An answer by IOID to a request for puts, or to its INIT. */
__attribute__((noinline)) int pva_answer(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);
	const int is_init = w && w->pva.kind == IOCX_PVA_INITED;
	struct iocx_ca_channel_key key;
	struct iocx_ca_pending *request;
	int is_put, is_ok;

	if (!flow)
		return 0;
	is_put = !is_init && iocx_pva_is_put(w->pva.command, w->pva.sub);
	is_ok = iocx_pva_is_ok(w->pva.status);
	set_channel_key(&key, flow->circuit, w->pva.other);
	request = bpf_map_lookup_elem(&ca_pending, &key);
	if (is_put && (!request || !request->since_ns))
		count_drop(IOCX_CA_DROP_ORPHAN_ANSWER);
	if (!request)
		return 0;
	if (is_put && request->since_ns) {
		add_put_duration(w, flow, request);
		if (!is_ok)
			add_failure(flow, request->channel, request->slot, pva_failure(w));
		request->since_ns = 0;
	}
	if (is_init ? !is_ok : request->queue.taken)
		end_pending(flow, &key, request);
	return 0;
}

static __always_inline int sets_up_puts(__u32 command)
{
	return command == IOCX_PVA_CMD_PUT || command == IOCX_PVA_CMD_PUT_GET || command == IOCX_PVA_CMD_RPC;
}

/* Handles requests to the server that are no puts. */
__attribute__((noinline)) int pva_request(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);
	struct iocx_ca_channel_key key;
	struct iocx_ca_pending *request;

	if (!flow)
		return 0;
	if (w->pva.kind == IOCX_PVA_INIT) {
		on_pva_init(w, flow);
		return 0;
	}
	set_channel_key(&key, flow->circuit, w->pva.other);
	request = bpf_map_lookup_elem(&ca_pending, &key);
	if (!request)
		return 0;
	if (w->pva.kind == IOCX_PVA_END_REQUEST)
		drop_request(flow, &key, request);
	else
		end_with_answer(w, request);
	return 0;
}
