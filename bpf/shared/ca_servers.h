/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Which servers and ports are watched, in the exporter's network namespace: the part of the wire format that the
 * programs for TCP, for UDP and for all packets share.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_CA_SERVERS_H
#define IOC_EXPORTER_BPF_SHARED_CA_SERVERS_H

#include <linux/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In place of the number of an IOC. */
#define IOCX_CA_IOC_TO_COME 0u         /* a CA server whose IOC is not known yet */
#define IOCX_CA_IOC_REMOTE 0xFFFFFFFFu /* a CA server on another host: its address and port identify it */

/*
 * Bit of the number of an IOC: the server speaks PV Access. It stands in ca_servers, and in what the programs copy from
 * there, so that a connection keeps its protocol.
 */
#define IOCX_CA_IOC_PVA (1u << 30)

/* Whether the server with this number speaks PV Access. */
static inline __attribute__((always_inline)) int iocx_ca_is_pva(__u32 ioc)
{
	return (ioc & IOCX_CA_IOC_PVA) && ioc != IOCX_CA_IOC_REMOTE;
}

/* Index into ca_programs: the programs that read segments and datagrams. */
#define IOCX_CA_PROGRAM_TCP 0
#define IOCX_CA_PROGRAM_UDP 1
#define IOCX_CA_PROGRAMS 2

/* An IPv4 address, in the order in which it is written. Channel Access has no others. */
struct iocx_ca_address {
	__u8 bytes[4];
};

/*
 * Key of ca_servers. An address of zeros is a wildcard: any address of the namespace or, with `remote`, any address
 * elsewhere.
 */
struct iocx_ca_server {
	struct iocx_ca_address address;
	__u16 port;   /* host byte order, as all ports here */
	__u16 remote; /* 1: the server is elsewhere, its clients are here */
};

/*
 * The element of ca_watched: one bit for each port, TCP and UDP alike. Whoever inserts a port into ca_ports, which fails
 * when it is there already, sets its bit. Only user space removes ports: first the bit, then the entry.
 */
#define IOCX_CA_PORT_WORDS 1024
struct iocx_ca_port_set {
	__u64 words[IOCX_CA_PORT_WORDS];
};

/*
 * Value of ca_ports, by port. Programs write the second where a server of this host whose IOC is to come shows that it
 * is there.
 */
#define IOCX_CA_PORT_WATCHED 1u
#define IOCX_CA_PORT_SPOKE 2u

/* Key of ca_local, in which the kernel finds the longest that is the start of another one. */
struct iocx_ca_local_route {
	__u32 bits; /* how many of the address count */
	struct iocx_ca_address address;
};
#define IOCX_CA_ROUTE_BITS 32 /* of an address */

#ifdef __cplusplus
}
#endif

#endif
