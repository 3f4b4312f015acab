/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Holders of entries in the tables of packets: clients. shared/caps.h has the rule. The index is a hash of the address
 * and, on loopback, of the port. Pure C that clang -target bpf and g++ both compile.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_CA_CAPS_H
#define IOC_EXPORTER_BPF_SHARED_CA_CAPS_H

#include <linux/types.h>

#include "shared/ca_header.h"
#include "shared/ca_servers.h"
#include "shared/caps.h"

/* The tables of tap/tap.bpf.c. */
enum iocx_ca_table {
	IOCX_CA_HELD_CIRCUITS, /* ca_flows */
	IOCX_CA_HELD_CHANNELS, /* ca_channels */
	IOCX_CA_HELD_REQUESTS, /* ca_cids: CREATE_CHANs that were not answered */
	IOCX_CA_HELD_PENDING,
	IOCX_CA_HELD_OUTCOMES,
	IOCX_CA_HELD_FAILURES,
	IOCX_CA_HELD_PAGES
};

/* Those of tap/udp.bpf.c. */
enum iocx_ca_udp_table {
	IOCX_CA_UDP_HELD_CLIENTS,  /* ca_search_clients, by the network of the client */
	IOCX_CA_UDP_HELD_SEARCHES, /* ca_searches, by the client */
	IOCX_CA_UDP_HELD_BEACONS   /* ca_beacons, by the sender, whatever server a beacon names */
};

#define IOCX_CA_HOLDER_BITS 15
#define IOCX_CA_HOLDERS (IOCX_HELD_FIRST + (1u << IOCX_CA_HOLDER_BITS))

/* `port`: of the client. */
IOCX_CA_INLINE __u32 iocx_ca_holder_of(const struct iocx_ca_address *address, __u32 port)
{
	__u32 number;
	__u64 id;

	__builtin_memcpy(&number, address->bytes, sizeof number);
	id = (__u64)number << 16 | (address->bytes[0] == 127 ? port : 0);
	/* The golden ratio, an odd number without a pattern. */
	return IOCX_HELD_FIRST + (__u32)((id + 1) * 0x9E3779B97F4A7C15ULL >> (64 - IOCX_CA_HOLDER_BITS));
}

/* By the first 16 bits, of loopback by 8: who invents addresses has some of the others. */
IOCX_CA_INLINE __u32 iocx_ca_holder_of_network(const struct iocx_ca_address *address)
{
	struct iocx_ca_address network = {};

	network.bytes[0] = address->bytes[0];
	network.bytes[1] = address->bytes[0] == 127 ? 0 : address->bytes[1];
	return iocx_ca_holder_of(&network, 0);
}

#endif
