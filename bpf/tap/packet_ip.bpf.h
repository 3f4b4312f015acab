/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Reads IPv4, TCP and UDP headers of a packet that may have a watched port, and fills in the segment for the
 * next program. Part of tap/packet.bpf.c.
 */

#define LOOPBACK_IFINDEX 1 /* the first device that a network namespace gets */
#define IP_FRAGMENT_OFFSET 0x1FFF
#define IP_MORE_FRAGMENTS 0x2000
#define UDP_HEADER 8
#define SHORTEST_TCP 5 /* words */
#define LONGEST_PLAIN 0xFFFF

/* The IPv4 header without options, and the ports behind it. */
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
	__be16 window;
};

/* Reads the TCP or UDP header. Returns 0 when the packet is too short. */
static __always_inline int read_header(struct __sk_buff *skb, const struct packet *packet, struct segment *segment)
{
	struct tcp_start tcp = {};

	if (packet->end > skb->len)
		return 0;
	if (packet->protocol == IPPROTO_UDP) {
		segment->data_at = packet->above + UDP_HEADER;
	} else {
		/* tcp_v4_rcv() takes neither broadcasts nor short headers. */
		if (skb->pkt_type == PACKET_BROADCAST || skb->pkt_type == PACKET_MULTICAST)
			return 0;
		if (bpf_skb_load_bytes(skb, packet->above, &tcp, sizeof tcp))
			return 0;
		if (tcp.offset >> 4 < SHORTEST_TCP)
			return 0;
		segment->seq = bpf_ntohl(tcp.seq);
		segment->ack = bpf_ntohl(tcp.ack);
		segment->flags = tcp.flags;
		segment->data_at = packet->above + (tcp.offset >> 4) * 4;
	}
	if (segment->data_at > packet->end)
		return 0;
	segment->length = packet->end - segment->data_at;
	return 1;
}

/* Fills in the segment for the next program, without its addresses; null when the packet cannot be read. */
static __always_inline struct segment *start_segment(struct __sk_buff *skb, const struct packet *packet)
{
	struct packet_work *w = only_element(&ca_work);
	struct segment *segment;

	if (!w)
		return 0;
	if (w->busy) {
		count_drop(IOCX_CA_DROP_BUSY);
		return 0;
	}
	w->busy = 1;
	segment = &w->segment;
	if (!read_header(skb, packet, segment)) {
		w->busy = 0;
		return 0;
	}
	segment->source_port = packet->source_port;
	segment->destination_port = packet->destination_port;
	segment->source_watched = packet->source_watched;
	segment->destination_watched = packet->destination_watched;
	segment->loopback = skb->ifindex == LOOPBACK_IFINDEX;
	segment->outgoing = skb->pkt_type == PACKET_OUTGOING;
	segment->direction = 0;
	segment->ioc = 0;
	return segment;
}

static __always_inline struct segment *read_ipv4(struct __sk_buff *skb, struct packet *packet)
{
	struct segment *segment;
	struct ip_start ip;
	__u32 size;

	if (bpf_skb_load_bytes(skb, packet->at, &ip, sizeof ip))
		return 0;
	packet->protocol = ip.protocol;
	if ((ip.protocol != IPPROTO_TCP && ip.protocol != IPPROTO_UDP) || ip.version_length >> 4 != 4)
		return 0;
	if (ip.fragment & bpf_htons(IP_FRAGMENT_OFFSET))
		return 0; /* it has no ports; its first fragment is counted */
	size = (ip.version_length & 15) * 4;
	packet->above = packet->at + size;
	if (size != IPV4_HEADER && (size < IPV4_HEADER || bpf_skb_load_bytes(skb, packet->above, &ip.source_port, 4)))
		return 0;
	if (!has_watched_port(packet, ip.source_port, ip.destination_port))
		return 0;
	if (ip.fragment & bpf_htons(IP_MORE_FRAGMENTS)) {
		count_drop(IOCX_CA_DROP_NOT_PARSED);
		return 0;
	}
	packet->end = packet->at + bpf_ntohs(ip.total_length);
	if (packet->end == packet->at) { /* larger than 64 KiB: IPv4 BIG TCP of Linux 6.3. Others are refused. */
		if (skb->len - packet->at <= LONGEST_PLAIN)
			return 0;
		packet->end = skb->len;
	}
	segment = start_segment(skb, packet);
	if (!segment)
		return 0;
	__builtin_memcpy(segment->source.bytes, &ip.source, sizeof ip.source);
	__builtin_memcpy(segment->destination.bytes, &ip.destination, sizeof ip.destination);
	return segment;
}
