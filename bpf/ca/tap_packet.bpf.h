/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Finds the connection of a TCP segment with a watched port, or makes it. Part of ca/tap.bpf.c. */

/* Sets the key of the connection, if the segment goes in that direction. */
static __always_inline void set_key(struct iocx_ca_flow_key *key, const struct segment *segment, __u32 direction)
{
	const int to_server = direction == IOCX_CA_TO_SERVER;

	key->client = to_server ? segment->source : segment->destination;
	key->server = to_server ? segment->destination : segment->source;
	key->client_port = to_server ? segment->source_port : segment->destination_port;
	key->server_port = to_server ? segment->destination_port : segment->source_port;
	key->net = segment->net;
}

/*
 * The IOC of the server that the key names, or null. `elsewhere`: the packet leaves this namespace for the server,
 * or comes from it. Then the client must be in this namespace. A server in another watched namespace of this host
 * is left to the socket there, so that each put is counted once.
 */
static __always_inline __u32 *find_server(const struct iocx_ca_flow_key *key, const struct segment *segment,
					  int elsewhere)
{
	struct iocx_ca_server server = {};
	__u32 *ioc;

	if (elsewhere && (!is_local(&key->client, key->net) || is_local(&key->server, IOCX_CA_NET_ANY)))
		return 0;
	server.address = key->server;
	server.port = key->server_port;
	server.remote = elsewhere;
	server.net = key->net;
	ioc = bpf_map_lookup_elem(&ca_servers, &server);
	if (ioc)
		return ioc;
	if (!elsewhere && !segment->loopback && !is_local(&key->server, key->net))
		return 0;
	__builtin_memset(&server.address, 0, sizeof server.address);
	return bpf_map_lookup_elem(&ca_servers, &server);
}

/* Makes a connection. After a SYN+ACK it is followed from its first byte; else its start is missing. */
static __always_inline struct iocx_ca_flow *make_flow(struct work *w, const struct segment *segment, __u32 ioc)
{
	struct iocx_ca_flow *flow;

	w->fresh_flow.circuit = new_id(w);
	w->fresh_flow.ioc = ioc;
	w->fresh_flow.unnamed_slot = IOCX_CA_NO_SLOT;
	w->fresh_flow.joined = 1;
	w->fresh_flow.since_ns = w->now;
	if (bpf_map_update_elem(&ca_flows, &w->key, &w->fresh_flow, BPF_NOEXIST)) {
		flow = bpf_map_lookup_elem(&ca_flows, &w->key); /* another CPU has made it, unless there is no room */
		if (!flow)
			count_drop(IOCX_CA_DROP_CIRCUITS_FULL);
		return flow;
	}
	/* User space counts those of candidates that turn out to be CA servers. */
	if (!(segment->flags & TCP_SYN) && ioc != IOCX_CA_IOC_CANDIDATE)
		count_drop(IOCX_CA_DROP_LATE);
	return bpf_map_lookup_elem(&ca_flows, &w->key);
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
	if (to_server) {
		segment->direction = IOCX_CA_TO_SERVER;
		set_key(&w->key, segment, IOCX_CA_TO_SERVER);
		flow = bpf_map_lookup_elem(&ca_flows, &w->key);
		if (flow)
			return flow;
	}
	if (to_client) {
		segment->direction = IOCX_CA_TO_CLIENT;
		set_key(&w->key, segment, IOCX_CA_TO_CLIENT);
		flow = bpf_map_lookup_elem(&ca_flows, &w->key);
		if (flow && !begins)
			return flow;
	}
	/*
	 * Whoever can send packets can send data for a connection that is none: what this host sends makes one known.
	 * On a network its server's mere ACK does; an RST says that there is none.
	 */
	if (!begins &&
	    (!segment->outgoing || (segment->flags & (TCP_RST | TCP_FIN)) || (!segment->length && segment->loopback)))
		return 0;
	/* The key is still set for the direction that was tried last. */
	if (to_client) {
		ioc = find_server(&w->key, segment, !segment->outgoing);
		if (ioc) {
			segment->ioc = *ioc;
			return make_flow(w, segment, *ioc);
		}
	}
	if (to_server) {
		segment->direction = IOCX_CA_TO_SERVER;
		set_key(&w->key, segment, IOCX_CA_TO_SERVER);
		ioc = find_server(&w->key, segment, !comes_in);
		if (ioc)
			return make_flow(w, segment, *ioc);
	}
	return 0;
}
