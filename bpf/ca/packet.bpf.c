// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/*
 * The filter on the packet sockets: finds the TCP segments and UDP datagrams that have a watched port and
 * hands them to ca/tap.bpf.c or ca/udp.bpf.c by a tail call. Loaded once for each network namespace, all
 * with the same maps. It always returns 0, so that no packet is ever queued, changed or delayed.
 *
 * What a packet that is nobody's CA costs is decided here: one load, of the word that has the ports in
 * most packets, and one look into the bitmap of watched ports. A load is a call, half of all that it costs.
 *
 * Small, since a filter's size counts against net.core.optmem_max, 20 KiB by default before 6.7
 * (__sk_filter_charge()).
 */
#include <linux/types.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "base/maps.bpf.h"
#include "shared/ca_tap.h"
#include "ca/segment.bpf.h"

#define LOOPBACK_IFINDEX 1 /* the first device that a network namespace gets */
#define IP_FRAGMENT_OFFSET 0x1FFF
#define IP_MORE_FRAGMENTS 0x2000
#define IPV6_FRAGMENT_OFFSET 0xFFF8
#define MOST_EXTENSIONS 6
#define TAG 4 /* bytes of a VLAN tag behind the Ethernet addresses */
#define UDP_HEADER 8
#define IPV4_HEADER 20
#define IPV6_HEADER 40
#define LONGEST_OPTION 40

const volatile __u32 cfg_net; /* number of the network namespace that the socket is in */

/* The header without options, and the first four bytes behind it. */
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

struct ipv6_start {
	__u8 version_class;
	__u8 class_flow[3];
	__be16 payload_length;
	__u8 next;
	__u8 hops;
	struct iocx_ca_address source;
	struct iocx_ca_address destination;
	__be16 source_port;
	__be16 destination_port;
};

struct ipv6_extension {
	__u8 next;
	__u8 length;
	__be16 option; /* of a fragment: its offset; else the first option's type and length */
	__u32 rest;
};

struct tcp_start {
	__be16 source_port;
	__be16 destination_port;
	__be32 seq;
	__be32 ack;
	__u8 offset;
	__u8 flags;
};

/* What is known of a packet before its protocol's own header is read. */
struct packet {
	__u32 at;       /* of the IP header */
	__u32 above;    /* of the TCP or UDP header, in the packet */
	__u32 end;      /* of the IP packet: what is behind it is padding */
	__u32 protocol; /* IPPROTO_TCP, IPPROTO_UDP */
	__u32 source_port;
	__u32 destination_port;
	__u32 source_watched;
	__u32 destination_watched;
};

/*
 * The load instruction of classic BPF, cheaper than bpf_skb_load_bytes(): in host byte order. Ends the
 * program where the packet is shorter.
 */
unsigned long long load_word(void *skb, unsigned long long at) asm("llvm.bpf.load.word");

static __always_inline int is_watched(const struct iocx_ca_port_set *set, __u32 port)
{
	__u64 word = port >> 6;

	IOCX_CA_MASK(word, IOCX_CA_PORT_WORDS - 1);
	return (set->words[word] >> (port & 63)) & 1;
}

static __always_inline int has_watched_port(struct packet *packet, __be16 source, __be16 destination)
{
	const __u32 net = cfg_net;
	struct iocx_ca_port_set *set = bpf_map_lookup_elem(&ca_watched, &net);

	if (!set)
		return 0;
	packet->source_port = bpf_ntohs(source);
	packet->destination_port = bpf_ntohs(destination);
	packet->source_watched = is_watched(set, packet->source_port);
	packet->destination_watched = is_watched(set, packet->destination_port);
	return packet->source_watched | packet->destination_watched;
}

/*
 * Whether the word where the ports are in a plain IPv4 packet can be the start of options (RFC 791,
 * section 3.1): a type and its length, or one or more types without. No port that is an option's type
 * and length passes for anything else, but most ports are not.
 */
static __always_inline int may_be_options(__u32 word)
{
	const __u32 type = word >> 24, second = (word >> 16) & 0xFF, third = (word >> 8) & 0xFF;

	if (type > 1)
		return second >= 2 && second <= LONGEST_OPTION;
	return second <= 1 || (third >= 2 && third <= LONGEST_OPTION);
}

/* Likewise of IPv6 extension headers, which start with the type of what follows them. */
static __always_inline int may_be_extension(__u32 word)
{
	const __u32 next = word >> 24;

	return next == IPPROTO_TCP || next == IPPROTO_UDP || next == IPPROTO_ROUTING ||
	       next == IPPROTO_FRAGMENT || next == IPPROTO_AH || next == IPPROTO_DSTOPTS;
}

/* Whether the packet, its IP header at the start, is worth a closer look. Most are not. */
static __always_inline int may_be_of_interest(struct __sk_buff *skb, __be16 protocol)
{
	const __u32 net = cfg_net;
	struct iocx_ca_port_set *set;
	__u32 ports;

	if (protocol == bpf_htons(ETH_P_IP)) {
		ports = load_word(skb, IPV4_HEADER);
		if (may_be_options(ports))
			return 1;
	} else if (protocol == bpf_htons(ETH_P_IPV6)) {
		ports = load_word(skb, IPV6_HEADER);
		if (may_be_extension(ports))
			return 1;
	} else {
		return 0;
	}
	set = bpf_map_lookup_elem(&ca_watched, &net);
	return set && (is_watched(set, ports >> 16) | is_watched(set, ports & 0xFFFF));
}

/* Reads the TCP or UDP header. Returns 0 when the packet is cut short. */
static __always_inline int read_header(struct __sk_buff *skb, const struct packet *packet,
				       struct segment *segment)
{
	struct tcp_start tcp;

	if (packet->end > skb->len)
		return 0;
	if (packet->protocol == IPPROTO_UDP) {
		segment->data_at = packet->above + UDP_HEADER;
	} else {
		if (bpf_skb_load_bytes(skb, packet->above, &tcp, sizeof tcp))
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

/* The segment that the next program is to read, but for its addresses; null when it cannot be read. */
static __always_inline struct segment *start_segment(struct __sk_buff *skb, const struct packet *packet)
{
	struct packet_work *w = only_element(&ca_work);
	struct segment *segment;

	if (!w)
		return 0;
	if (w->busy) {
		count_drop(IOCX_CA_DROP_NESTED);
		return 0;
	}
	w->busy = 1;
	segment = &w->segment;
	if (!read_header(skb, packet, segment)) {
		w->busy = 0;
		return 0;
	}
	segment->net = cfg_net;
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

static __always_inline void set_mapped(struct iocx_ca_address *to, __be32 address)
{
	__u32 *words = (__u32 *)to->bytes;

	words[0] = 0;
	words[1] = 0;
	words[2] = bpf_htonl(0xFFFF);
	words[3] = address;
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
		return 0; /* no ports in it; its first fragment is counted */
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
	if (packet->end == packet->at)
		packet->end = skb->len; /* larger than 64 KiB: IPv4 BIG TCP of Linux 6.3 */
	segment = start_segment(skb, packet);
	if (!segment)
		return 0;
	set_mapped(&segment->source, ip.source);
	set_mapped(&segment->destination, ip.destination);
	return segment;
}

/*
 * Finds the ports behind IPv6 extension headers (RFC 8200, section 4). Returns 0 when there are none: in
 * a later fragment, behind encryption, further back than MOST_EXTENSIONS.
 */
static __always_inline int pass_extensions(struct __sk_buff *skb, struct packet *packet,
					   struct ipv6_start *ip)
{
	struct ipv6_extension extension;

	packet->above = packet->at + IPV6_HEADER;
	packet->protocol = ip->next;
#pragma unroll
	for (int i = 0; i < MOST_EXTENSIONS; i++) {
		if (packet->protocol == IPPROTO_TCP || packet->protocol == IPPROTO_UDP)
			return bpf_skb_load_bytes(skb, packet->above, &ip->source_port, 4) == 0;
		if (packet->protocol != IPPROTO_HOPOPTS && packet->protocol != IPPROTO_ROUTING &&
		    packet->protocol != IPPROTO_FRAGMENT && packet->protocol != IPPROTO_DSTOPTS &&
		    packet->protocol != IPPROTO_AH)
			return 0;
		if (bpf_skb_load_bytes(skb, packet->above, &extension, sizeof extension))
			return 0;
		if (packet->protocol == IPPROTO_FRAGMENT) {
			if (extension.option & bpf_htons(IPV6_FRAGMENT_OFFSET))
				return 0;
			packet->above += 8;
		} else if (packet->protocol == IPPROTO_AH) {
			packet->above += (extension.length + 2) * 4;
		} else {
			packet->above += (extension.length + 1) * 8;
		}
		packet->protocol = extension.next;
	}
	return 0;
}

static __always_inline struct segment *read_ipv6(struct __sk_buff *skb, struct packet *packet)
{
	struct segment *segment;
	struct ipv6_start ip;
	int plain;

	if (bpf_skb_load_bytes(skb, packet->at, &ip, sizeof ip))
		return 0;
	packet->protocol = ip.next;
	packet->above = packet->at + IPV6_HEADER;
	plain = ip.next == IPPROTO_TCP || ip.next == IPPROTO_UDP;
	if (!plain && !pass_extensions(skb, packet, &ip))
		return 0;
	if (!has_watched_port(packet, ip.source_port, ip.destination_port))
		return 0;
	if (!plain) {
		count_drop(IOCX_CA_DROP_NOT_PARSED);
		return 0;
	}
	packet->end = packet->above + bpf_ntohs(ip.payload_length);
	segment = start_segment(skb, packet);
	if (!segment)
		return 0;
	segment->source = ip.source;
	segment->destination = ip.destination;
	return segment;
}

/* Whether an IP packet of the protocol starts at `at` and ends with the packet. */
static __always_inline int is_ip(struct __sk_buff *skb, __u32 at, __be16 protocol)
{
	struct ipv6_extension start; /* the first eight bytes of either header */

	if (bpf_skb_load_bytes(skb, at, &start, sizeof start))
		return 0;
	if (protocol == bpf_htons(ETH_P_IP))
		return start.next >> 4 == 4 && at + bpf_ntohs(start.option) == skb->len;
	return start.next >> 4 == 6 && at + IPV6_HEADER + bpf_ntohs(start.rest & 0xFFFF) == skb->len;
}

static __always_inline int is_tag(__be16 protocol)
{
	return protocol == bpf_htons(ETH_P_8021Q) || protocol == bpf_htons(ETH_P_8021AD);
}

/*
 * The packet is called VLAN. Finds where its IP header is: behind one or two tags, or, of what is sent,
 * often right at the start. A tag may look like the start of an IP header and the other way round, so
 * the lengths have to agree. Returns the protocol that the header is of.
 */
static __always_inline __be16 pass_tags(struct __sk_buff *skb, struct packet *packet)
{
	__be16 tag[2]; /* priority and VLAN, protocol of what follows */
	__u32 at = 0;
	__u8 version;

#pragma unroll
	for (int i = 0; i < 2; i++) {
		if (bpf_skb_load_bytes(skb, at, tag, sizeof tag))
			return 0;
		at += TAG;
		if (is_tag(tag[1]))
			continue;
		if ((tag[1] == bpf_htons(ETH_P_IP) || tag[1] == bpf_htons(ETH_P_IPV6)) &&
		    (skb->pkt_type != PACKET_OUTGOING || is_ip(skb, at, tag[1]))) {
			packet->at = at;
			return tag[1];
		}
		break;
	}
	if (skb->pkt_type != PACKET_OUTGOING || bpf_skb_load_bytes(skb, 0, &version, 1))
		return 0;
	return version >> 4 == 4 ? bpf_htons(ETH_P_IP) : bpf_htons(ETH_P_IPV6);
}

SEC("socket")
int ca_packet(struct __sk_buff *skb)
{
	const __u32 type = skb->pkt_type;
	struct packet packet = {};
	struct segment *segment;
	__be16 protocol;

	/* On loopback every packet passes twice: only the sender's copy is taken, which comes in order. */
	if (type != PACKET_OUTGOING && (type > PACKET_MULTICAST || skb->ifindex == LOOPBACK_IFINDEX))
		return 0;
	protocol = skb->protocol;
	if (is_tag(protocol))
		protocol = pass_tags(skb, &packet);
	else if (!may_be_of_interest(skb, protocol))
		return 0;
	if (protocol == bpf_htons(ETH_P_IP))
		segment = read_ipv4(skb, &packet);
	else if (protocol == bpf_htons(ETH_P_IPV6))
		segment = read_ipv6(skb, &packet);
	else
		return 0;
	if (!segment)
		return 0;
	bpf_tail_call(skb, &ca_programs,
		      packet.protocol == IPPROTO_TCP ? IOCX_CA_PROGRAM_TCP : IOCX_CA_PROGRAM_UDP);
	/* Only reached where nobody reads such packets. */
	((struct packet_work *)segment)->busy = 0;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
