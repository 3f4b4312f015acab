/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Learns of servers from answers to searches and from beacons. Part of tap/udp.bpf.c. */

static __always_inline void learn(const struct iocx_ca_server *server, __u32 ioc)
{
	const __u32 port = server->port;
	const __u32 *known;
	__u32 *state;

	learn_server(server, ioc);
	known = bpf_map_lookup_elem(&ca_servers, server);
	state = bpf_map_lookup_elem(&ca_ports, &port);
	if (!known || !state)
		count_udp(IOCX_CA_UDP_DROP_SERVERS_FULL, 1);
	else if (ioc == IOCX_CA_IOC_TO_COME && *known == ioc && *state != IOCX_CA_PORT_SPOKE)
		*state = IOCX_CA_PORT_SPOKE;
}

/* The address of the server: the one in the message, or the sender's when the message has `open` there. */
static __always_inline void server_address(const struct udp_work *w, struct iocx_ca_address *to, __u32 open)
{
	const __be32 address = bpf_htonl(w->event.address);

	if (w->event.address == open)
		*to = w->source;
	else
		__builtin_memcpy(to->bytes, &address, sizeof address);
}

/*
 * Adds a server of this host, which has sent the datagram; on loopback every address is local. Most servers listen on
 * any address, so it is added with the wildcard until user space corrects that. A server that is known with this very
 * address need not be added; one that user space expects there has come.
 */
static __always_inline void learn_local(const struct udp_work *w, struct iocx_ca_server *server)
{
	const __u32 *known;

	if (!w->loopback && (!is_local(&w->source) || !is_local(&server->address)))
		return;
	known = bpf_map_lookup_elem(&ca_servers, server);
	if (known && *known != IOCX_CA_IOC_TO_COME)
		return;
	if (!known)
		__builtin_memset(&server->address, 0, sizeof server->address);
	learn(server, IOCX_CA_IOC_TO_COME);
}

static __always_inline void on_answer(struct udp_work *w)
{
	struct iocx_ca_server server = {};

	server_address(w, &server.address, IOCX_CA_SOURCE_ADDRESS);
	server.port = w->event.port;
	if (w->outgoing) {
		learn_local(w, &server);
		return;
	}
	/* The answer is for a client of this host. */
	if (!cfg_remote || !is_local(&w->destination) || is_local(&server.address))
		return;
	server.remote = 1;
	learn(&server, IOCX_CA_IOC_REMOTE);
}

static __always_inline void count_beacon(const struct udp_work *w, const struct iocx_ca_server *server)
{
	struct iocx_ca_beacon_key key = {};
	struct iocx_ca_beacon fresh = {};
	struct iocx_ca_beacon *beacon;

	key.server = server->address;
	key.port = server->port;
	beacon = bpf_map_lookup_elem(&ca_beacons, &key);
	if (!beacon) {
		fresh.holder = iocx_ca_holder_of(&w->source, w->source_port);
		beacon = add_for_holder(&ca_beacons, IOCX_CA_UDP_HELD_BEACONS, &key, &fresh, fresh.holder);
	}
	if (!beacon) {
		count_udp(IOCX_CA_UDP_DROP_BEACONS_FULL, 1);
		return;
	}
	__sync_fetch_and_add(&beacon->beacons, 1);
	beacon->last_ns = w->now;
}

static __always_inline void on_beacon(struct udp_work *w)
{
	struct iocx_ca_server server = {};

	server_address(w, &server.address, 0);
	server.port = w->event.port;
	if (cfg_searches)
		count_beacon(w, &server);
	if (w->outgoing)
		learn_local(w, &server);
}
