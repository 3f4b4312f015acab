/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Holders of places in the tables of datagrams, so that no sender fills one that others need: senders, in groups.
 * shared/shares.h has the rule.
 *
 * A datagram's source can be forged. So a client that searches is held by its network, and all networks by the network
 * namespace where they are seen; a server is held by the sender of its beacon, whatever address the beacon names.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_CA_UDP_SHARES_H
#define IOC_EXPORTER_BPF_SHARED_CA_UDP_SHARES_H

#include <linux/types.h>

#include "shared/ca_shares.h"

/* The tables. */
enum iocx_ca_udp_share_of {
	IOCX_CA_UDP_SHARE_CLIENTS,  /* ca_search_clients */
	IOCX_CA_UDP_SHARE_SEARCHES, /* ca_searches */
	IOCX_CA_UDP_SHARE_BEACONS   /* ca_beacons */
};

/* Indices of holders: network namespaces, and hashes of senders. */
#define IOCX_CA_UDP_SHARE_NETS 254u
#define IOCX_CA_UDP_SHARE_FIRST (IOCX_SHARE_FIRST + IOCX_CA_UDP_SHARE_NETS)
#define IOCX_CA_UDP_SHARE_BITS 12
#define IOCX_CA_UDP_HOLDERS (IOCX_CA_UDP_SHARE_FIRST + (1u << IOCX_CA_UDP_SHARE_BITS))

/* Holder of an entry. */
struct iocx_ca_udp_holder {
	__u32 one;
	__u32 group;
};

IOCX_CA_INLINE __u32 iocx_ca_udp_share_of_net(__u32 net)
{
	return IOCX_SHARE_FIRST + net % IOCX_CA_UDP_SHARE_NETS;
}

/* `port`: 0, or the port that distinguishes sockets of one address. */
IOCX_CA_INLINE __u32 iocx_ca_udp_share_of_sender(const struct iocx_ca_address *address, __u32 net, __u32 port)
{
	const __u64 id = (__u64)iocx_ca_share_of_address(address) << 16 | port;

	return IOCX_CA_UDP_SHARE_FIRST +
	       (__u32)((id * IOCX_CA_SHARE_MIX_TOO + net) * IOCX_CA_SHARE_MIX >> (64 - IOCX_CA_UDP_SHARE_BITS));
}

/* Its /24. */
IOCX_CA_INLINE struct iocx_ca_udp_holder iocx_ca_udp_holder_of_client(const struct iocx_ca_address *address, __u32 net)
{
	struct iocx_ca_address network = *address;
	struct iocx_ca_udp_holder holder;

	network.bytes[3] = 0;
	holder.one = iocx_ca_udp_share_of_sender(&network, net, 0);
	holder.group = iocx_ca_udp_share_of_net(net);
	return holder;
}

/* Each socket of a client, all of its address together. */
IOCX_CA_INLINE struct iocx_ca_udp_holder iocx_ca_udp_holder_of_search(const struct iocx_ca_address *address, __u32 net,
								      __u32 port)
{
	struct iocx_ca_udp_holder holder;

	holder.one = iocx_ca_udp_share_of_sender(address, net, port | 0x10000);
	holder.group = iocx_ca_udp_share_of_sender(address, net, 0);
	return holder;
}

#endif
