/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Holders of places in the tap's tables, so that no client fills one that others need: circuits, in groups by the
 * client's address. shared/shares.h has the rule.
 *
 * The index is a hash of the circuit's id or of the address. Ids are never used twice: counts of a closed circuit stay
 * its own. Clients on loopback are distinguished by their circuits alone: they are IOCX_SHARE_LOCAL. Pure C that clang
 * -target bpf and g++ both compile.
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
	IOCX_CA_SHARE_CLEARED /* ca_sids: IOCX_CA_CLEARED */
};

#define IOCX_CA_SHARE_BITS 15
#define IOCX_CA_HOLDERS (IOCX_SHARE_FIRST + (1u << IOCX_CA_SHARE_BITS))

/* Golden ratio, and digits of pi: odd numbers without a pattern. */
#define IOCX_CA_SHARE_MIX 0x9E3779B97F4A7C15ULL
#define IOCX_CA_SHARE_MIX_TOO 0x243F6A8885A308D3ULL

/* `circuit` 0: only the address holds the place. */
IOCX_CA_INLINE __u32 iocx_ca_share_of_circuit(__u64 circuit)
{
	return !circuit ? IOCX_SHARE_ALL
			: IOCX_SHARE_FIRST + (__u32)(circuit * IOCX_CA_SHARE_MIX >> (64 - IOCX_CA_SHARE_BITS));
}

IOCX_CA_INLINE __u32 iocx_ca_share_of_address(const struct iocx_ca_address *address)
{
	__u32 number;

	if (address->bytes[0] == 127)
		return IOCX_SHARE_LOCAL;
	__builtin_memcpy(&number, address->bytes, sizeof number);
	return IOCX_SHARE_FIRST + (__u32)((number + 1ULL) * IOCX_CA_SHARE_MIX >> (64 - IOCX_CA_SHARE_BITS));
}

#endif
