// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/*
 * Channel Access over UDP: which servers are up, and on which TCP ports; which clients search for which names.
 *
 * tap/packet.bpf.c finds the datagrams with a watched port and calls this program; tap/tap.bpf.c explains the use of
 * global functions. A server that answers a search, or sends a beacon, is watched from then on: before its first
 * client connects.
 */
#include <linux/types.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/in.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "base/maps.bpf.h"
#include "shared/ca_udp.h"

#define MESSAGES_PER_BURST 16
#define BURSTS 272 /* a datagram of 64 KiB holds 4,096 messages of 16 bytes; some steps read none */

const volatile __u32 cfg_remote; /* 1: also watch servers on other hosts */

#include "tap/segment.bpf.h"
#include "tap/servers.bpf.h"
#include "tap/searches_map.bpf.h"
#include "tap/udp_maps.bpf.h"

static __always_inline void count_udp(enum iocx_ca_udp_drop reason, __u64 times)
{
	add_to_counter(&ca_udp_drops, reason, times);
}

static __always_inline struct udp_work *get_udp_work(void)
{
	return only_element(&ca_udp_work);
}

#define HELD ca_udp_held
#include "base/caps.bpf.h"

/* Adds a copy of `*fresh` for the holder and returns the value of the key; NULL: there is no room. */
static __always_inline void *add_for_holder(void *map, __u32 table, const void *key, const void *fresh, __u32 holder)
{
	if (!take_place(table, holder))
		return 0;
	if (bpf_map_update_elem(map, key, fresh, BPF_NOEXIST))
		give_place(table, holder);
	return bpf_map_lookup_elem(map, key);
}

#include "tap/udp_searches.bpf.h"
#include "tap/udp_servers.bpf.h"

/* Fills in bytes of the datagram from its `pos` on. */
static __always_inline int fill(struct __sk_buff *skb, struct udp_work *w)
{
	struct iocx_ca_datagram *d = &w->datagram;
	const __u32 size = iocx_ca_udp_wanted(d);
	__u64 wanted;

	if (size == 0)
		return -1;
	/* Changes no value: the verifier of 5.10 must see that 1 <= wanted <= ROOM. */
	wanted = size - 1;
	IOCX_CA_MASK(wanted, IOCX_CA_UDP_ROOM - 1);
	asm volatile("%0 += 1" : "+r"(wanted));
	d->base = d->pos;
	return bpf_skb_load_bytes(skb, w->data_at + d->pos, d->bytes, wanted);
}

/* Handles the event in the work area. A global function, so that the verifier checks it once. */
__attribute__((noinline)) int ca_udp_event(struct __sk_buff *skb)
{
	struct udp_work *w = get_udp_work();

	asm volatile("" : : "r"(skb)); /* else clang passes none: the verifier wants a context */
	if (!w)
		return 1;
	switch (w->event.kind) {
	case IOCX_CA_UDP_SEARCH:
		if (cfg_searches)
			on_search(w);
		break;
	case IOCX_CA_UDP_ANSWER:
		on_answer(w);
		break;
	case IOCX_CA_UDP_BEACON:
		on_beacon(w);
		break;
	case IOCX_CA_UDP_BAD:
		count_udp(IOCX_CA_UDP_DROP_NOT_PARSED, 1);
		break;
	}
	return 0;
}

/* Reads up to MESSAGES_PER_BURST messages of the datagram. Returns 1 at its end. */
__attribute__((noinline)) int ca_udp_burst(struct __sk_buff *skb)
{
	struct udp_work *w = get_udp_work();

	if (!w)
		return 1;
#pragma clang loop unroll(disable)
	for (int i = 0; i < MESSAGES_PER_BURST; i++) {
		asm volatile("" : "+r"(w)); /* hidden from clang, which would keep the address of each member */
		if (iocx_ca_udp_wants_bytes(&w->datagram) && fill(skb, w))
			return 1;
		if (iocx_ca_udp_step(&w->datagram, &w->event) == IOCX_CA_DONE)
			return 1;
		if (w->event.kind != IOCX_CA_UDP_NOTHING)
			ca_udp_event(skb);
	}
	return 0;
}

/*
 * Whether the datagram is also seen on another device: the one of its VLAN, or the one that this device belongs to.
 * VLAN 0 is a priority, not a network. tap/packet.bpf.c has skipped the second copy on loopback.
 */
static __always_inline int is_copy(struct __sk_buff *skb)
{
	const __u32 device = skb->ifindex;

	if (skb->vlan_present && (skb->vlan_tci & 0xFFF))
		return 1;
	if (skb->protocol == bpf_htons(ETH_P_8021Q) || skb->protocol == bpf_htons(ETH_P_8021AD))
		return 1;
	return bpf_map_lookup_elem(&ca_lower_devices, &device) != 0;
}

static __always_inline void on_datagram(struct __sk_buff *skb, const struct segment *segment)
{
	struct udp_work *w = get_udp_work();

	if (!w || is_copy(skb))
		return;
	w->source = segment->source;
	w->destination = segment->destination;
	w->source_port = segment->source_port;
	w->destination_port = segment->destination_port;
	w->data_at = segment->data_at;
	w->loopback = segment->loopback;
	w->outgoing = segment->outgoing;
	w->searches = 0;
	w->now = bpf_ktime_get_ns();
	iocx_ca_udp_begin(&w->datagram, segment->length, segment->destination_watched, segment->source_watched);
	for (int i = 0; i < BURSTS; i++) {
		if (ca_udp_burst(skb))
			goto finished;
	}
	count_udp(IOCX_CA_UDP_DROP_NOT_PARSED, 1);
finished:
	count_client(w);
}

SEC("socket")
int ca_udp(struct __sk_buff *skb)
{
	struct packet_work *tap = only_element(&ca_work);

	if (!tap)
		return 0;
	on_datagram(skb, &tap->segment);
	tap->busy = 0;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
