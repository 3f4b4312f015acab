/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Data that the filter on the packet socket (tap/packet.bpf.c) passes to the programs for segments and datagrams
 * (tap/tap.bpf.c, tap/udp.bpf.c), and the maps that all of them share. User space makes the maps once, for ca_tap, and
 * gives them to the other objects.
 */

#include "tap/watched_map.bpf.h"

/* A TCP segment or a UDP datagram with a watched port. Ports in host byte order. */
struct segment {
	struct iocx_ca_address source;
	struct iocx_ca_address destination;
	__u32 source_port;
	__u32 destination_port;
	__u32 source_watched;
	__u32 destination_watched;
	__u32 data_at;  /* offset of the payload in the packet */
	__u32 length;   /* of the payload */
	__u32 loopback; /* the device is the namespace's loopback */
	__u32 outgoing; /* the namespace sends or forwards it; it does not receive it */
	/* TCP only */
	__u32 seq;
	__u32 ack;
	__u32 flags;
	__u32 direction; /* set by find_flow(), as is `ioc` of a SYN+ACK */
	__u32 ioc;
};

/*
 * How the value of ca_work starts in every object. `busy` is 1 while a program works on a packet on this CPU; the
 * last program that is called for the packet sets it to 0.
 */
struct packet_work {
	struct segment segment;
	__u32 busy;
	__u32 pad;
};

#ifndef CA_WORK
#define CA_WORK struct packet_work
#endif

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, CA_WORK);
} ca_work SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, IOCX_CA_DROPS);
	__type(key, __u32);
	__type(value, __u64);
} ca_drops SEC(".maps");

/* The programs for TCP and UDP, IOCX_CA_PROGRAM_*. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, IOCX_CA_PROGRAMS);
	__type(key, __u32);
	__type(value, __u32);
} ca_programs SEC(".maps");

static __always_inline void count_drop(enum iocx_ca_drop reason)
{
	add_to_counter(&ca_drops, reason, 1);
}
