// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/*
 * The filter on the packet socket: finds the TCP segments and UDP datagrams with a watched port and passes them to
 * tap/tap.bpf.c or tap/udp.bpf.c by a tail call. It always returns 0, so that no packet is queued, changed or delayed.
 * Channel Access has IPv4 addresses only.
 *
 * The program is small, since the size of a filter counts against net.core.optmem_max, 20 KiB by default before 6.7
 * (__sk_filter_charge()).
 */
#include <linux/types.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/in.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "base/maps.bpf.h"
#include "shared/ca_tap.h"
#include "tap/segment.bpf.h"
#include "tap/packet_ports.bpf.h"
#include "tap/packet_ip.bpf.h"
#include "tap/packet_vlan.bpf.h"

SEC("socket")
int ca_packet(struct __sk_buff *skb)
{
	const __u32 type = skb->pkt_type;
	struct packet packet = {};
	struct segment *segment;

	/* The filter sees each packet on loopback twice: it takes the sender's copy, which comes in order. */
	if (type != PACKET_OUTGOING && (type > PACKET_MULTICAST || skb->ifindex == LOOPBACK_IFINDEX))
		return 0;
	if (is_tag(skb->protocol) ? !pass_tags(skb, &packet) : !may_be_of_interest(skb, skb->protocol))
		return 0;
	segment = read_ipv4(skb, &packet);
	if (!segment)
		return 0;
	bpf_tail_call(skb, &ca_programs, packet.protocol == IPPROTO_TCP ? IOCX_CA_PROGRAM_TCP : IOCX_CA_PROGRAM_UDP);
	/* Only reached when no program for such packets is loaded. */
	((struct packet_work *)segment)->busy = 0;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
