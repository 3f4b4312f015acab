/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * What the program on the packet sockets (ca/packet.bpf.c) hands to those that read segments and
 * datagrams (ca/tap.bpf.c, ca/udp.bpf.c), and the maps that all of them share. User space makes the maps
 * once, for ca_tap, and gives them to the other objects.
 */
/* A TCP segment or a UDP datagram with a watched port. Ports in host byte order. */
struct segment {
	struct iocx_ca_address source;
	struct iocx_ca_address destination;
	__u32 net; /* number of the network namespace */
	__u32 source_port;
	__u32 destination_port;
	__u32 source_watched;
	__u32 destination_watched;
	__u32 data_at;  /* of the payload, in the packet */
	__u32 length;   /* of the payload */
	__u32 loopback; /* the device is the namespace's loopback */
	__u32 outgoing; /* sent or forwarded by the namespace, not received */
	/* TCP only */
	__u32 seq;
	__u32 ack;
	__u32 flags;
	__u32 direction; /* set by find_flow(), as is `ioc` for a SYN+ACK */
	__u32 ioc;
};

/*
 * The start of what is in ca_work. `busy` while a program of this CPU works on a packet: whoever was called
 * for the packet sets it to 0 when it is done.
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

/* Who reads what ca/packet.bpf.c finds. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, IOCX_CA_PROGRAMS);
	__type(key, __u32);
	__type(value, __u32);
} ca_programs SEC(".maps");

/* The watched ports of each network namespace. Mapped into user space. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, IOCX_CA_NAMESPACES);
	__type(key, __u32);
	__type(value, struct iocx_ca_port_set);
} ca_watched SEC(".maps");

static __always_inline void count_drop(enum iocx_ca_drop reason)
{
	add_to_counter(&ca_drops, reason, 1);
}
