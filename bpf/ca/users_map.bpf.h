/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* What ca/users.bpf.c tells ca/tap.bpf.c. */
#ifndef IOC_EXPORTER_BPF_CA_USERS_MAP_H
#define IOC_EXPORTER_BPF_CA_USERS_MAP_H

#include "shared/ca_tap.h"

/*
 * Index into ca_shares by connection, `net` being 0: a connection of one network namespace may pass for the same of
 * another one, and be counted as its user's. Read at the first data; those that were made since push it out. One map for
 * connections to watched ports, one for others: whoever makes many to ports where no IOC listens pushes out the second's
 * only, which is for IOCs that have just started.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct iocx_ca_flow_key);
	__type(value, __u32);
} ca_users SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct iocx_ca_flow_key);
	__type(value, __u32);
} ca_users_early SEC(".maps");

#endif
