/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Circuits of PV Access: what differs from Channel Access. Part of tap/tap.bpf.c; the lock of the message's direction is
 * held. shared/pva_parser.h reads the messages, one at a time, into w->pva.
 */

#define PVA_STEPS 32 /* a segment of 64 KiB holds 8,192 messages of 8 bytes: in BURSTS bursts */

/* Copies a text of the client's identity, which starts at `at` of the window. */
static __always_inline void copy_pva_text(struct work *w, __u32 at, const struct iocx_pva_text *text, __u8 *to)
{
	const __u32 size = text->size;

	at += text->at;
	IOCX_CA_MASK(at, 2 * IOCX_CA_REACH - 1);
	iocx_ca_copy(to, w->window.bytes + at, IOCX_CA_IDENTITY);
	if (size < IOCX_CA_IDENTITY) {
		to[size] = 0;
	} else {
		to[IOCX_CA_IDENTITY - 1] = 0;
		count_drop(IOCX_CA_DROP_NAME_CUT);
	}
}

/* The client has said who it is. Like pvxs, which goes on with the user that it knows when another method names none. */
__attribute__((noinline)) int pva_identify(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);
	__u8 *user, *host;
	__u32 at, size;

	if (!flow)
		return 0;
	user = (__u8 *)flow->identity.user;
	host = (__u8 *)flow->identity.host;
	at = w->pva.at;
	IOCX_CA_MASK(at, 2 * IOCX_CA_REACH - 1);
	if (at > IOCX_CA_REACH + 16)
		return 0;
	iocx_pva_read_identity(w->window.bytes + at, w->pva.size, w->pva.size == w->pva.length, &w->identity);
	if (w->identity.refused) {
		user[0] = host[0] = 0;
		count_drop(IOCX_CA_DROP_NAME_CUT);
	} else if (w->identity.user.size) {
		copy_pva_text(w, at, &w->identity.user, user);
		copy_pva_text(w, at, &w->identity.host, host);
	} else if (!user[0]) {
		size = w->identity.method.size;
		copy_pva_text(w, at, &w->identity.method, user);
		if (size < IOCX_CA_IDENTITY - 1) {
			user[size] = '/';
			user[size + 1] = 0;
		}
	}
	return 0;
}

/* The server has closed the channel, or confirms that the client has: no message for it follows. */
static __always_inline void on_pva_closed(struct work *w, struct iocx_ca_flow *flow, __u32 sid)
{
	struct iocx_ca_channel *element;
	struct iocx_ca_channel_key key;
	__u32 slot;

	element = channel_of(flow, sid, &slot);
	if (!element || element->sid != sid || (element->state == IOCX_CA_SLOT_LIVE && element->cid != w->pva.other))
		return;
	set_channel_key(&key, flow->circuit, sid);
	if (end_channel(flow, slot))
		flow->counts[IOCX_CA_COUNT_DISCONNECTS]++;
	bpf_map_delete_elem(&ca_sids, &key);
}

static __always_inline void on_pva_create(struct work *w, struct iocx_ca_flow *flow)
{
	__u8 *name = (__u8 *)w->info.name;
	__u32 at = w->pva.at;
	__u64 size = w->pva.size;

	IOCX_CA_MASK(at, 2 * IOCX_CA_REACH - 1);
	if (at > IOCX_CA_REACH + 16)
		return;
	iocx_ca_copy(name, w->window.bytes + at, IOCX_CA_NAME);
	IOCX_CA_OPAQUE(size);
	if (size < IOCX_CA_NAME)
		name[size] = 0;
	if (w->pva.length > w->pva.size)
		count_drop(IOCX_CA_DROP_NAME_CUT);
	request_channel(w, flow, w->pva.id);
}

/*
 * Whether an answer to CREATE_CHANNEL gives the SID of an open channel while boundaries are unconfirmed: then it may be
 * part of a value.
 */
static __always_inline int is_doubtful(const struct work *w, struct iocx_ca_flow *flow)
{
	const struct iocx_ca_channel *element;
	__u32 slot;

	if (flow->directions[IOCX_CA_TO_CLIENT].stream.sync == IOCX_CA_FOLLOWED)
		return 0;
	element = channel_of(flow, w->pva.other, &slot);
	return element && element->sid == w->pva.other && is_open(element, flow->circuit);
}

/* Handles what makes and ends channels. */
__attribute__((noinline)) int pva_channel(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);

	if (!flow)
		return 0;
	if (w->pva.kind == IOCX_PVA_CREATE)
		on_pva_create(w, flow);
	else if (w->pva.kind == IOCX_PVA_DESTROY && w->window.direction == IOCX_CA_TO_SERVER)
		on_clear(flow, w->pva.id);
	else if (w->pva.kind == IOCX_PVA_DESTROY)
		on_pva_closed(w, flow, w->pva.id);
	else if (is_doubtful(w, flow))
		count_drop(IOCX_CA_DROP_ORPHAN);
	else if (iocx_pva_is_ok(w->pva.status))
		on_created(flow, w->pva.id, w->pva.other, 0);
	else
		on_failed(flow, w->pva.id);
	return 0;
}

/* Returns 1 when nothing more of the segment is to be read. */
static __always_inline int on_pva_trouble(struct work *w, struct iocx_ca_flow *flow)
{
	if (w->pva.kind == IOCX_PVA_UNREADABLE) {
		count_drop(IOCX_CA_DROP_NOT_PARSED);
		return 0;
	}
	if (w->pva.kind == IOCX_PVA_REFUSED_ALL)
		count_drop(w->window.direction == IOCX_CA_TO_SERVER ? IOCX_CA_DROP_REFUSED : IOCX_CA_DROP_GAP);
	else if (!flow->refused_ns)
		count_drop(IOCX_CA_DROP_NOT_CA);
	/* Only the server says which protocol it speaks, and it speaks first. */
	if (w->window.direction == IOCX_CA_TO_SERVER)
		flow->refused_ns = w->now;
	else if (w->pva.kind == IOCX_PVA_NOT_PVA)
		flow->alien = 1;
	return 1;
}

/* Handles the message of w->pva, which is no put. Returns 1 when nothing more of the segment is to be read. */
static __always_inline int on_pva_message(struct __sk_buff *skb, struct work *w, struct iocx_ca_flow *flow)
{
	const __u32 kind = w->pva.kind, command = w->pva.command;

	if (kind >= IOCX_PVA_UNREADABLE)
		return on_pva_trouble(w, flow);
	if (kind == IOCX_PVA_ANSWER || kind == IOCX_PVA_INITED)
		note_answer(flow, w->pva.other);
	if (kind == IOCX_PVA_UPDATE)
		count_message(flow, IOCX_CA_UPDATE);
	if (kind == IOCX_PVA_ASK && command <= IOCX_PVA_CMD_PUT_GET)
		count_message(flow, IOCX_CA_GET);
	if (kind == IOCX_PVA_IDENTIFY)
		return pva_identify(skb);
	if (kind == IOCX_PVA_CREATE || kind == IOCX_PVA_CREATED || kind == IOCX_PVA_DESTROY)
		return pva_channel(skb);
	if (kind == IOCX_PVA_END_REQUEST || (kind == IOCX_PVA_ASK && (w->pva.sub & IOCX_PVA_SUB_DESTROY)) ||
	    (kind == IOCX_PVA_INIT && sets_up_puts(command)))
		return pva_request(skb);
	if ((kind == IOCX_PVA_ANSWER || kind == IOCX_PVA_INITED) && sets_up_puts(command))
		return pva_answer(skb);
	return 0;
}

/* Whether the message in seek.bytes is a request for a channel that the circuit has not. */
static __always_inline int is_orphan(const struct work *w, const struct iocx_ca_flow *flow)
{
	const __u8 *bytes = w->window.seek.bytes;

	if (w->window.direction != IOCX_CA_TO_SERVER || (bytes[2] & (IOCX_PVA_CONTROL | IOCX_PVA_CONTINUED)) ||
	    !iocx_pva_is_request(bytes[3]) || !iocx_pva_is_header(bytes, IOCX_CA_TO_SERVER))
		return 0;
	return trust_in(flow, IOCX_CA_NAMES_SID,
			iocx_pva_u32(bytes + IOCX_PVA_HEADER, bytes[2] & IOCX_PVA_BIG_ENDIAN)) == IOCX_CA_REFUSED;
}

/* One step of the search (shared/pva_resync.h). */
__attribute__((noinline)) int pva_seek_step(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);
	__u32 size;

	if (!flow)
		return IOCX_CA_SEEK_END;
	size = iocx_pva_seek_wants(&w->window);
	if (size && load_header(skb, w, size))
		size = 0;
	if (size == IOCX_PVA_PUT_HEAD && is_orphan(w, flow))
		size = 0;
	return iocx_pva_seek(&direction_of(flow, w->window.direction)->pva, &w->window, size);
}

/* Goes on with the search for boundaries. Returns 1 when the segment has none. */
__attribute__((noinline)) int pva_seek(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);
	struct iocx_pva_stream *s;
	int result = IOCX_CA_SEEK_ON;
	__u32 start;

	if (!flow)
		return 1;
	s = &direction_of(flow, w->window.direction)->pva;
	if (!w->window.seek.active)
		iocx_pva_seek_begin(s, &w->window);
	start = w->window.pos;
	for (int i = 0; i < SEEK_STEPS && result == IOCX_CA_SEEK_ON; i++)
		result = pva_seek_step(skb);
	count_passed(w, flow, start);
	begin_proof(w, flow, result);
	return result == IOCX_CA_SEEK_END;
}

/*
 * The client writes in another byte order from now on. When it is not the one that the server has set, servers differ in
 * where its messages end.
 */
static __always_inline void note_order(const struct work *w, const struct iocx_ca_flow *flow)
{
	if (w->window.direction == IOCX_CA_TO_SERVER && !flow->lacks_channels &&
	    flow->directions[IOCX_CA_TO_SERVER].pva.big != flow->directions[IOCX_CA_TO_CLIENT].pva.big)
		count_drop(IOCX_CA_DROP_NOT_PARSED);
}

/*
 * Reads one message of the current piece, of which a put is left to the caller. Returns an enum iocx_ca_step: DONE at its
 * end, OUT_OF_SYNC when it is lost.
 */
__attribute__((noinline)) int pva_step(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);
	struct iocx_pva_stream *s;
	int result;
	__u32 order;

	if (!flow || flow->alien)
		return IOCX_CA_DONE;
	s = &direction_of(flow, w->window.direction)->pva;
	if (iocx_ca_is_out_of_sync(&s->stream))
		return IOCX_CA_OUT_OF_SYNC;
	if (iocx_ca_wants_bytes(&s->stream, &w->window) && fill(skb, w, &s->stream))
		return IOCX_CA_DONE;
	order = s->big;
	result = iocx_pva_step(s, &w->window, &w->pva);
	if (s->big != order)
		note_order(w, flow);
	if (result != IOCX_CA_MORE || w->pva.kind == IOCX_PVA_NOTHING)
		return result;
	if (w->pva.kind != IOCX_PVA_PUT && on_pva_message(skb, w, flow))
		return IOCX_CA_DONE;
	return IOCX_CA_MORE;
}

/* Reads up to PVA_STEPS messages of the current piece, or searches for one. Returns 1 at its end. */
__attribute__((noinline)) int pva_burst(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);
	struct iocx_ca_stream *s;
	int result;

	if (!flow)
		return 1;
	s = &direction_of(flow, w->window.direction)->stream;
	if (!flow->alien && iocx_ca_is_out_of_sync(s))
		return pva_seek(skb);
	if (!flow->alien && s->sync == IOCX_CA_UNPROVED)
		return ca_prove(skb);
	for (int i = 0; i < PVA_STEPS; i++) {
		result = pva_step(skb);
		if (result != IOCX_CA_MORE)
			return result == IOCX_CA_DONE;
		/* Here, where the stack has room for it (512 bytes in all). It may have lost the boundaries. */
		if (w->pva.kind == IOCX_PVA_PUT)
			pva_put(skb);
	}
	return 0;
}

/* `missing` bytes will not be seen. Returns 1 when the boundaries are lost with them. */
__attribute__((noinline)) int pva_gap(struct __sk_buff *skb, __u32 missing)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);
	int is_lost;

	if (!flow || flow->alien)
		return 0;
	is_lost = iocx_pva_gap(&direction_of(flow, w->window.direction)->pva, &w->pva, missing);
	if (w->pva.kind == IOCX_PVA_PUT)
		pva_put(skb);
	return is_lost;
}
