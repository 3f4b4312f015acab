/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Finds the IP header of packets with VLAN tags. Part of tap/packet.bpf.c. */

#define TAG 4 /* bytes of a VLAN tag behind the Ethernet addresses */

/* Whether an IPv4 packet starts at offset `at` and ends where the packet ends. */
static __always_inline int is_ip(struct __sk_buff *skb, __u32 at)
{
	struct {
		__u8 version_length, service;
		__be16 total_length;
	} start;

	return bpf_skb_load_bytes(skb, at, &start, sizeof start) == 0 && start.version_length >> 4 == 4 &&
	       at + bpf_ntohs(start.total_length) == skb->len;
}

static __always_inline int is_tag(__be16 protocol)
{
	return protocol == bpf_htons(ETH_P_8021Q) || protocol == bpf_htons(ETH_P_8021AD);
}

/*
 * Whether the packet, whose protocol is VLAN, is an IPv4 packet, and where its header starts: behind one or two tags; of
 * a packet that is sent, often right at the start. A tag may look like the start of an IP header and the other way
 * round, so the lengths have to agree.
 */
static __always_inline int pass_tags(struct __sk_buff *skb, struct packet *packet)
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
		if (tag[1] == bpf_htons(ETH_P_IP) && (skb->pkt_type != PACKET_OUTGOING || is_ip(skb, at))) {
			packet->at = at;
			return 1;
		}
		break;
	}
	return skb->pkt_type == PACKET_OUTGOING && !bpf_skb_load_bytes(skb, 0, &version, 1) && version >> 4 == 4;
}
