/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * From a packet to a TCP segment of a watched server, and to its connection. Part of ca_tap.bpf.c.
 * What a packet that is nobody's CA costs is decided in read_packet().
 */

/* The IPv4 header without options, and the first four bytes behind it. */
struct ip_start {
	__u8 version_length;
	__u8 service;
	__be16 total_length;
	__be16 id;
	__be16 fragment;
	__u8 hops;
	__u8 protocol;
	__be16 checksum;
	__be32 source;
	__be32 destination;
	__be16 source_port;
	__be16 destination_port;
};

struct tcp_start {
	__be16 source_port;
	__be16 destination_port;
	__be32 seq;
	__be32 ack;
	__u8 offset;
	__u8 flags;
};

static __always_inline int is_watched(__u32 port)
{
	__u64 word = port >> 6;

	IOCX_CA_MASK(word, 1023);
	return (watched_ports[word] >> (port & 63)) & 1;
}

/* Reads the TCP header. Returns 0 when the packet is cut short or is no segment of interest. */
static __always_inline int read_tcp(struct __sk_buff *skb, struct segment *segment, __u32 ip_length,
				    __u32 total)
{
	struct tcp_start tcp;

	if (bpf_skb_load_bytes(skb, ip_length, &tcp, sizeof tcp))
		return 0;
	segment->seq = bpf_ntohl(tcp.seq);
	segment->ack = bpf_ntohl(tcp.ack);
	segment->flags = tcp.flags;
	segment->data_at = ip_length + (tcp.offset >> 4) * 4;
	if (segment->data_at > total || total > skb->len)
		return 0;
	segment->length = total - segment->data_at;
	/* An ACK alone says nothing; a SYN without ACK is not answered yet. */
	return segment->length || (segment->flags & (TCP_FIN | TCP_RST)) ||
	       (segment->flags & (TCP_SYN | TCP_ACK)) == (TCP_SYN | TCP_ACK);
}

/*
 * The TCP segment in the packet, when a watched port is in it. On loopback every packet passes twice:
 * only the sender's copy is taken, which comes in order.
 */
static __always_inline int read_packet(struct __sk_buff *skb, struct segment *segment)
{
	const __u32 type = skb->pkt_type;
	const __u32 protocol = skb->protocol;
	struct ip_start ip;
	__u32 ip_length, total;

	segment->direction = 0;
	segment->ioc = 0;
	segment->loopback = skb->ifindex == LOOPBACK_IFINDEX;
	segment->outgoing = type == PACKET_OUTGOING;
	if (segment->loopback ? !segment->outgoing : (!segment->outgoing && type != PACKET_HOST))
		return 0;
	/* What is sent with a VLAN tag may be called VLAN while its data starts at IP. */
	if (protocol != bpf_htons(ETH_P_IP) && protocol != bpf_htons(ETH_P_8021Q) &&
	    protocol != bpf_htons(ETH_P_8021AD))
		return 0;
	if (bpf_skb_load_bytes(skb, 0, &ip, sizeof ip))
		return 0;
	if (ip.protocol != IPPROTO_TCP || ip.version_length >> 4 != 4)
		return 0;
	if (ip.fragment & bpf_htons(IP_FRAGMENT_OFFSET))
		return 0; /* no ports in it; its first fragment is counted */
	ip_length = (ip.version_length & 15) * 4;
	if (ip_length != 20 &&
	    (ip_length < 20 || bpf_skb_load_bytes(skb, ip_length, &ip.source_port, 4)))
		return 0;
	segment->source_port = bpf_ntohs(ip.source_port);
	segment->destination_port = bpf_ntohs(ip.destination_port);
	if (!is_watched(segment->source_port) && !is_watched(segment->destination_port))
		return 0;
	if (ip.fragment & bpf_htons(IP_MORE_FRAGMENTS)) {
		count(IOCX_CA_DROP_NOT_PARSED);
		return 0;
	}
	segment->source = ip.source;
	segment->destination = ip.destination;
	total = bpf_ntohs(ip.total_length);
	if (total == 0)
		total = skb->len; /* larger than 64 KiB: IPv4 BIG TCP of Linux 6.3 */
	return read_tcp(skb, segment, ip_length, total);
}

static __always_inline void set_address(struct iocx_ca_address *to, __be32 address)
{
	__u32 *words = (__u32 *)to->bytes;

	words[0] = 0;
	words[1] = 0;
	words[2] = bpf_htonl(0xFFFF);
	words[3] = address;
}

/* The connection's key when the segment goes in that direction. */
static __always_inline void set_key(struct iocx_ca_flow_key *key, const struct segment *segment,
				    __u32 direction)
{
	const int to_server = direction == IOCX_CA_TO_SERVER;

	set_address(&key->client, to_server ? segment->source : segment->destination);
	set_address(&key->server, to_server ? segment->destination : segment->source);
	key->client_port = to_server ? segment->source_port : segment->destination_port;
	key->server_port = to_server ? segment->destination_port : segment->source_port;
	key->net = 0;
}

/* Who listens where the key says, or null. */
static __always_inline __u32 *find_server(const struct iocx_ca_flow_key *key, __u32 loopback)
{
	struct iocx_ca_server server = {};
	struct iocx_ca_local local = {};
	__u32 *ioc;

	server.address = key->server;
	server.port = key->server_port;
	server.net = key->net;
	ioc = bpf_map_lookup_elem(&ca_servers, &server);
	if (ioc)
		return ioc;
	local.address = key->server;
	local.net = key->net;
	if (!loopback && !bpf_map_lookup_elem(&ca_local, &local))
		return 0;
	__builtin_memset(&server.address, 0, sizeof server.address);
	return bpf_map_lookup_elem(&ca_servers, &server);
}

/* A connection that is new to the tap. SYN+ACK: followed from its first byte; else joined. */
static __always_inline struct iocx_ca_flow *make_flow(struct work *w, const struct segment *segment,
						      __u32 ioc)
{
	struct iocx_ca_flow *flow;

	w->fresh_flow.circuit = new_id(w);
	w->fresh_flow.ioc = ioc;
	w->fresh_flow.unnamed_slot = IOCX_CA_NO_SLOT;
	w->fresh_flow.joined = 1;
	if (bpf_map_update_elem(&ca_flows, &w->key, &w->fresh_flow, BPF_NOEXIST)) {
		flow = bpf_map_lookup_elem(&ca_flows, &w->key); /* another CPU was faster? */
		if (!flow)
			count(IOCX_CA_DROP_CIRCUITS_FULL);
		return flow;
	}
	if (!(segment->flags & TCP_SYN))
		count(IOCX_CA_DROP_LATE);
	return bpf_map_lookup_elem(&ca_flows, &w->key);
}

/*
 * The segment's connection, known or new; w->key and segment->direction are set. A listener's port may
 * be a client's port elsewhere: known connections come first, and only what the interface allows is
 * tried: what comes in goes to a server of this host, what goes out comes from one.
 */
static __always_inline struct iocx_ca_flow *find_flow(struct work *w, struct segment *segment)
{
	const int begins = (segment->flags & (TCP_SYN | TCP_ACK)) == (TCP_SYN | TCP_ACK);
	const int to_server = !begins && (segment->loopback || !segment->outgoing) &&
			      is_watched(segment->destination_port);
	const int to_client = segment->outgoing && is_watched(segment->source_port);
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
	if (!begins && !segment->length)
		return 0;
	/* The key is still the direction's that was tried last. */
	if (to_client) {
		ioc = find_server(&w->key, segment->loopback);
		if (ioc) {
			segment->ioc = *ioc;
			return make_flow(w, segment, *ioc);
		}
	}
	if (to_server) {
		segment->direction = IOCX_CA_TO_SERVER;
		set_key(&w->key, segment, IOCX_CA_TO_SERVER);
		ioc = find_server(&w->key, segment->loopback);
		if (ioc)
			return make_flow(w, segment, *ioc);
	}
	return 0;
}
