/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* The names that clients search for. tap/tap.bpf.c has the map, tap/udp.bpf.c shares it; empty unless they are counted. */

#include "shared/ca_udp.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct iocx_ca_search_key);
	__type(value, struct iocx_ca_search);
} ca_searches SEC(".maps");

const volatile __u32 cfg_searches; /* 1: searches and beacons are counted */
