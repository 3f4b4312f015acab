/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Finds the IP header of packets with VLAN tags. Part of tap/packet.bpf.c. */

#define TAG 4 /* bytes of a VLAN tag behind the Ethernet addresses */

/* Whether an IP packet of the protocol starts at offset `at` and ends where the packet ends. */
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
 * Finds the IP header of a packet whose protocol is VLAN: behind one or two tags; of a packet that is sent, often
 * right at the start. A tag may look like the start of an IP header and the other way round, so the lengths have to
 * agree. Returns the protocol of the header.
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
