/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Which servers and ports are watched, where: part of the wire format of the programs in bpf/ca and of user space.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_CA_SERVERS_H
#define IOC_EXPORTER_BPF_SHARED_CA_SERVERS_H

#include <linux/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Instead of an IOC's number, where none is known. */
#define IOCX_CA_IOC_TO_COME 0u            /* a CA server, or the place of one: whose, is still to be told */
#define IOCX_CA_IOC_CANDIDATE 0xFFFFFFFEu /* a listener that may or may not speak Channel Access */
#define IOCX_CA_IOC_REMOTE 0xFFFFFFFFu    /* a CA server on another host, told by its address and port */

/* Index into ca_programs: who reads what the packet sockets' programs find. */
#define IOCX_CA_PROGRAM_TCP 0
#define IOCX_CA_PROGRAM_UDP 1
#define IOCX_CA_PROGRAMS 2

/* Network namespaces have numbers of user space's; 0 is the exporter's own. */
#define IOCX_CA_NAMESPACES 64
#define IOCX_CA_NET_ANY 0xFFFFFFFFu /* in ca_local: of any of the namespaces that are watched */

/* An IPv4 address a.b.c.d stands as ::ffff:a.b.c.d everywhere. */
struct iocx_ca_address {
	__u8 bytes[16];
};

/*
 * Key of ca_servers. An address of all zeros is a wildcard: any address of the namespace, or, with
 * `remote`, any other.
 */
struct iocx_ca_server {
	struct iocx_ca_address address;
	__u16 port;   /* host byte order, as all ports here */
	__u16 remote; /* 1: the server is on another host, its clients are here */
	__u32 net;  /* number of the network namespace */
};

/*
 * Element of ca_watched, by number of the network namespace: one bit a port, for TCP and UDP alike.
 * Whoever inserts a port into ca_ports, which fails when it is there, sets its bit. User space alone
 * takes ports away: first the bit, then the entry.
 */
#define IOCX_CA_PORT_WORDS 1024
struct iocx_ca_port_set {
	__u64 words[IOCX_CA_PORT_WORDS];
};

/* Key of ca_ports. */
struct iocx_ca_port {
	__u32 net;
	__u16 port;
	__u16 pad;
};

/* Key of ca_local: an address of the host in one of its namespaces. */
struct iocx_ca_local {
	struct iocx_ca_address address;
	__u32 net;
};

#ifdef __cplusplus
}
#endif

#endif
