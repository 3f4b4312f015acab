/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Finds the connection of a TCP segment with a watched port, or makes it. Part of tap/tap.bpf.c. */

/* Sets the key of the connection, if the segment goes in that direction. */
static __always_inline void set_key(struct iocx_ca_flow_key *key, const struct segment *segment, __u32 direction)
{
	const int to_server = direction == IOCX_CA_TO_SERVER;

	key->client = to_server ? segment->source : segment->destination;
	key->server = to_server ? segment->destination : segment->source;
	key->client_port = to_server ? segment->source_port : segment->destination_port;
	key->server_port = to_server ? segment->destination_port : segment->source_port;
}

/*
 * The IOC of the server that the key names, or null. `elsewhere`: the packet leaves this namespace for the server,
 * or comes from it. Then the client must be in this namespace.
 */
static __always_inline __u32 *find_server(const struct iocx_ca_flow_key *key, const struct segment *segment,
					  int elsewhere)
{
	struct iocx_ca_server server = {};
	__u32 *ioc;

	if (elsewhere && (!is_local(&key->client) || is_local(&key->server)))
		return 0;
	server.address = key->server;
	server.port = key->server_port;
	server.remote = elsewhere;
	ioc = bpf_map_lookup_elem(&ca_servers, &server);
	if (ioc)
		return ioc;
	if (!elsewhere && !segment->loopback && !is_local(&key->server))
		return 0;
	__builtin_memset(&server.address, 0, sizeof server.address);
	return bpf_map_lookup_elem(&ca_servers, &server);
}

static __always_inline void start_direction(struct iocx_ca_direction *d, __u32 next)
{
	iocx_pva_start(&d->pva);
	d->next = next;
	d->acked = next;
	d->next_known = 1;
	d->behind = 0;
	d->boundary = 8 | (next & 7);
}

/* Enters a connection as w->fresh_flow says. */
static __always_inline struct iocx_ca_flow *enter_flow(struct work *w, __u32 ioc)
{
	const __u32 holder = iocx_ca_holder_of(&w->key.client, w->key.client_port);
	struct iocx_ca_flow *flow;

	w->fresh_flow.circuit = new_id(w);
	w->fresh_flow.lock = (__u32)w->fresh_flow.circuit;
	w->fresh_flow.ioc = ioc;
	w->fresh_flow.unnamed_slot = IOCX_CA_NO_SLOT;
	w->fresh_flow.since_ns = w->now;
	w->fresh_flow.holder = holder;
	if (!take_place(IOCX_CA_HELD_CIRCUITS, holder)) {
		count_drop(IOCX_CA_DROP_CIRCUITS_FULL);
		return 0;
	}
	if (bpf_map_update_elem(&ca_flows, &w->key, &w->fresh_flow, BPF_NOEXIST)) {
		give_place(IOCX_CA_HELD_CIRCUITS, holder);
		flow = bpf_map_lookup_elem(&ca_flows, &w->key); /* another CPU has made it, unless there is no room */
		if (!flow)
			count_drop(IOCX_CA_DROP_CIRCUITS_FULL);
		return flow;
	}
	return bpf_map_lookup_elem(&ca_flows, &w->key);
}

/* Makes a connection whose start is missing. */
static __always_inline struct iocx_ca_flow *join_flow(struct work *w, __u32 ioc)
{
	struct iocx_ca_flow *flow;

	w->fresh_flow.lacks_channels = 1;
	flow = enter_flow(w, ioc);
	if (flow && flow->circuit == w->fresh_flow.circuit)
		count_drop(IOCX_CA_DROP_LATE);
	return flow;
}

/*
 * The first segment with data after a SYN+ACK that was noted makes a connection, which is followed from its first
 * byte. A forger who has not seen the SYN+ACK does not know the numbers. So does an acknowledgement of data that was not seen.
 */
static __always_inline struct iocx_ca_flow *begin_flow(struct work *w, const struct segment *segment)
{
	const struct iocx_ca_begun *begun = bpf_map_lookup_elem(&ca_begun, &w->key);
	struct iocx_ca_flow *fresh = &w->fresh_flow, *flow;
	__u32 to_server, to_client, ahead, acked;

	if (!begun)
		return 0;
	to_server = begun->next[IOCX_CA_TO_SERVER];
	to_client = begun->next[IOCX_CA_TO_CLIENT];
	if (segment->direction == IOCX_CA_TO_SERVER) {
		ahead = segment->seq - to_server;
		acked = segment->ack - to_client;
	} else {
		ahead = segment->seq - to_client;
		acked = segment->ack - to_server;
	}
	if ((segment->flags & TCP_RST) || ahead > FIRST_AHEAD || acked > FIRST_AHEAD || (!segment->length && !acked))
		return 0;
	fresh->lacks_channels = 0;
	fresh->first_seq[0] = to_server;
	fresh->first_seq[1] = to_client;
	start_direction(&fresh->directions[IOCX_CA_TO_SERVER], to_server);
	start_direction(&fresh->directions[IOCX_CA_TO_CLIENT], to_client);
	flow = enter_flow(w, begun->ioc);
	__builtin_memset(fresh->first_seq, 0, sizeof fresh->first_seq);
	__builtin_memset(fresh->directions, 0, sizeof fresh->directions);
	if (flow)
		bpf_map_delete_elem(&ca_begun, &w->key);
	w->refused = !flow;
	return flow;
}

/* Notes a SYN+ACK, or returns the connection that it starts anew. */
static __always_inline struct iocx_ca_flow *note_begin(struct work *w, const struct segment *segment)
{
	struct iocx_ca_flow *flow = bpf_map_lookup_elem(&ca_flows, &w->key);
	struct iocx_ca_begun begun = {};

	if (flow)
		return flow;
	begun.next[IOCX_CA_TO_SERVER] = segment->ack;
	begun.next[IOCX_CA_TO_CLIENT] = segment->seq + 1;
	begun.ioc = segment->ioc;
	bpf_map_update_elem(&ca_begun, &w->key, &begun, BPF_ANY);
	return 0;
}

/*
 * The connection of the segment, known or new. Sets w->key and segment->direction. The port of a server may be the
 * port of a client elsewhere. So known connections are tried first, and only the directions that are possible: an
 * incoming packet goes to a server of this host, an outgoing one comes from it, and with cfg_remote also the other
 * way round.
 */
static __always_inline struct iocx_ca_flow *find_flow(struct work *w, struct segment *segment)
{
	const int begins = (segment->flags & (TCP_SYN | TCP_ACK)) == (TCP_SYN | TCP_ACK);
	const int comes_in = segment->loopback || !segment->outgoing;
	const int to_server = !begins && segment->destination_watched && (comes_in || cfg_remote);
	const int to_client = segment->source_watched && (segment->outgoing || cfg_remote);
	struct iocx_ca_flow *flow;
	__u32 *ioc;

	segment->ioc = 0;
	w->refused = 0;
	if (to_server) {
		segment->direction = IOCX_CA_TO_SERVER;
		set_key(&w->key, segment, IOCX_CA_TO_SERVER);
		flow = bpf_map_lookup_elem(&ca_flows, &w->key);
		if (!flow)
			flow = begin_flow(w, segment);
		if (flow)
			return flow;
	}
	if (to_client) {
		segment->direction = IOCX_CA_TO_CLIENT;
		set_key(&w->key, segment, IOCX_CA_TO_CLIENT);
		flow = begins ? 0 : bpf_map_lookup_elem(&ca_flows, &w->key);
		if (!begins && !flow)
			flow = begin_flow(w, segment);
		if (flow)
			return flow;
	}
	/*
	 * A forger can send data for a connection that does not exist: only packets that this host sends make a connection
	 * known. On a network, the server's ACK is enough; its RST says that there is no connection.
	 */
	if (w->refused)
		return 0;
	if (!begins &&
	    (!segment->outgoing || (segment->flags & (TCP_RST | TCP_FIN)) || (!segment->length && segment->loopback)))
		return 0;
	/* The key is still set for the direction that was tried last. */
	if (to_client) {
		ioc = find_server(&w->key, segment, !segment->outgoing);
		if (ioc && begins) {
			segment->ioc = *ioc;
			return note_begin(w, segment);
		}
		if (ioc)
			return join_flow(w, *ioc);
	}
	if (to_server) {
		segment->direction = IOCX_CA_TO_SERVER;
		set_key(&w->key, segment, IOCX_CA_TO_SERVER);
		ioc = find_server(&w->key, segment, !comes_in);
		if (ioc)
			return join_flow(w, *ioc);
	}
	return 0;
}
