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
#include "ca/packet_ports.bpf.h"
#include "ca/packet_ip.bpf.h"
#include "ca/packet_vlan.bpf.h"

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
