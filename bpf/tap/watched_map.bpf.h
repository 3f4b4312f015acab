/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Which ports are watched: what all programs of the tap look at. */
#ifndef IOC_EXPORTER_BPF_CA_WATCHED_MAP_H
#define IOC_EXPORTER_BPF_CA_WATCHED_MAP_H

#include "shared/ca_servers.h"

/* The watched ports. Mapped into user space. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct iocx_ca_port_set);
} ca_watched SEC(".maps");

static __always_inline int is_watched(const struct iocx_ca_port_set *set, __u32 port)
{
	__u64 word = port >> 6;

	IOCX_CA_MASK(word, IOCX_CA_PORT_WORDS - 1);
	return (set->words[word] >> (port & 63)) & 1;
}

#endif
