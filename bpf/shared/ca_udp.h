/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The wire format between bpf/tap/udp.bpf.c and src/puts/searches/udp.cpp. Fixed-width types, padding as named fields; C++
 * asserts sizes and offsets. Times are nanoseconds of CLOCK_MONOTONIC.
 *
 * The kernel adds entries and counts, each for a holder (ca_caps.h). Only user space removes them.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_CA_UDP_H
#define IOC_EXPORTER_BPF_SHARED_CA_UDP_H

#include "shared/ca_tap.h"
#include "shared/ca_udp_parser.h"
#include "shared/ca_caps.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Key of ca_search_clients. */
struct iocx_ca_search_client {
	struct iocx_ca_address address;
};

/* Value of ca_search_clients. */
struct iocx_ca_search_count {
	__u64 requests; /* names that it asked for */
	__u64 last_ns;
};

/* Key of ca_searches: a name that a client asks for. */
struct iocx_ca_search_key {
	char name[IOCX_CA_SEARCHED_NAME]; /* filled up with zeros; untrusted input */
	struct iocx_ca_address client;
};

/* Value of ca_searches. */
struct iocx_ca_search {
	__u64 requests;
	__u64 first_ns;
	__u64 last_ns;
	__u32 holder; /* index into ca_udp_held */
	__u32 found;  /* 1: the client has asked a server of this host for a channel of that name since */
};

/* Key of ca_beacons: a server that sends beacons. */
struct iocx_ca_beacon_key {
	struct iocx_ca_address server;
	__u16 port; /* TCP */
	__u16 pad;
};

/* Value of ca_beacons. */
struct iocx_ca_beacon {
	__u64 beacons; /* datagrams */
	__u64 last_ns;
	__u32 holder; /* the sender of the first beacon: index into ca_udp_held */
	__u32 pad;
};

/* Index into the per-CPU array ca_udp_drops. */
#define IOCX_CA_UDP_DROP_LIST(ROW)                                                                       \
	/* requests of clients: the map is full */                                                       \
	ROW(IOCX_CA_UDP_DROP_CLIENTS_FULL, "full")                                                       \
	/* requests whose names are not kept: the map is full */                                         \
	ROW(IOCX_CA_UDP_DROP_SEARCHES_FULL, "full")                                                      \
	/* requests for names that were cut to the length that is kept */                                \
	ROW(IOCX_CA_UDP_DROP_NAME_CUT, "cut")                                                            \
	/* beacons of servers: the map is full */                                                        \
	ROW(IOCX_CA_UDP_DROP_BEACONS_FULL, "full")                                                       \
	/* servers that are not watched: no room for them or their port */                               \
	ROW(IOCX_CA_UDP_DROP_SERVERS_FULL, "full")                                                       \
	/* datagrams that are cut off, no Channel Access, or with more messages than one run may read */ \
	ROW(IOCX_CA_UDP_DROP_NOT_PARSED, "unreadable")
IOCX_LABELLED_ENUM(iocx_ca_udp_drop, IOCX_CA_UDP_DROP_LIST, IOCX_CA_UDP_DROPS)

#ifdef __cplusplus
}
#endif

#endif
