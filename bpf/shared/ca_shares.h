/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Who holds how much of the tap's tables, so that nobody fills one that others need: circuits, in groups by
 * the client's address. shared/shares.h has the rule.
 *
 * Counted in buckets by a hash of the circuit's id and of the address, of IPv6 its /64. Two that share a
 * bucket are counted as one: in a table that is nearly full, some get less than they might. Ids are never used twice,
 * so that what is counted for a circuit that is gone is its own. Pure C that clang -target bpf and g++ both compile.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_CA_SHARES_H
#define IOC_EXPORTER_BPF_SHARED_CA_SHARES_H

#include <linux/types.h>

#include "shared/ca_header.h"
#include "shared/ca_servers.h"
#include "shared/shares.h"

/* The tables. */
enum iocx_ca_share_of {
	IOCX_CA_SHARE_CIRCUITS, /* ca_flows */
	IOCX_CA_SHARE_CHANNELS, /* ca_channels */
	IOCX_CA_SHARE_REQUESTS, /* ca_cids: CREATE_CHANs that were not answered */
	IOCX_CA_SHARE_PENDING,
	IOCX_CA_SHARE_OUTCOMES,
	IOCX_CA_SHARE_FAILURES,
	IOCX_CA_SHARE_PAGES,
	IOCX_CA_SHARE_CLEARED, /* ca_sids: IOCX_CA_CLEARED */
	IOCX_CA_SHARES
};

/* Element of ca_shares: how much of each table is held. Mapped into user space; written by atomic additions. */
struct iocx_ca_share {
	__u32 held[IOCX_CA_SHARES];
};

/* Index into ca_shares. */
#define IOCX_CA_SHARE_ALL 0u   /* of all together */
#define IOCX_CA_SHARE_LOCAL 1u /* of clients on loopback, whom their circuits alone tell apart */
#define IOCX_CA_SHARE_FIRST 2u
#define IOCX_CA_SHARE_BITS 15
#define IOCX_CA_SHARE_BUCKETS (IOCX_CA_SHARE_FIRST + (1u << IOCX_CA_SHARE_BITS))

/* 1 of so many places is kept for clients elsewhere, whatever those on this host hold. */
#define IOCX_CA_SHARE_ELSEWHERE 16u
/* 1 of so many places is kept for the one slot of each circuit that counts puts without a name. */
#define IOCX_CA_SHARE_KEPT 64u

/* Golden ratio, and digits of pi: odd numbers without a pattern. */
#define IOCX_CA_SHARE_MIX 0x9E3779B97F4A7C15ULL
#define IOCX_CA_SHARE_MIX_TOO 0x243F6A8885A308D3ULL

IOCX_CA_INLINE __u32 iocx_ca_share_of_circuit(__u64 circuit)
{
	return IOCX_CA_SHARE_FIRST + (__u32)(circuit * IOCX_CA_SHARE_MIX >> (64 - IOCX_CA_SHARE_BITS));
}

IOCX_CA_INLINE __u32 iocx_ca_share_of_address(const struct iocx_ca_address *address)
{
	const __u8 *bytes = address->bytes;
	__u64 network = 0, host = 0;

#pragma GCC unroll 8
	for (int i = 0; i < 8; i++) {
		network = network << 8 | bytes[i];
		host = host << 8 | bytes[8 + i];
	}
	if (network == 0 && ((host >> 24) == 0xFFFF7FULL || host == 1))
		return IOCX_CA_SHARE_LOCAL;
	/* All link-local addresses are in one /64, and IPv4 ones, mapped, too. */
	if (network != 0 && network != 0xFE80000000000000ULL)
		host = 0;
	return IOCX_CA_SHARE_FIRST +
	       (__u32)((network * IOCX_CA_SHARE_MIX_TOO + host + 1) * IOCX_CA_SHARE_MIX >> (64 - IOCX_CA_SHARE_BITS));
}

/* 1 of so many places is kept from who has that share. */
IOCX_CA_INLINE __u32 iocx_ca_share_kept(__u32 address)
{
	return address == IOCX_CA_SHARE_LOCAL ? IOCX_CA_SHARE_ELSEWHERE : IOCX_CA_SHARE_KEPT;
}

/*
 * How many of `room` places are for those who have little. Fewer of the pages: they are held for moments, and two
 * connections on a bad network need nearly all.
 */
IOCX_CA_INLINE __u32 iocx_ca_share_reserve(__u32 table, __u32 room)
{
	return table == IOCX_CA_SHARE_PAGES ? room / 8 : room / 2;
}

#endif
