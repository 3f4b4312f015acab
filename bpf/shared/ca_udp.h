/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * What bpf/ca/udp.bpf.c and src/probes/ca_udp.cpp tell each other: a wire format. Fixed-width types,
 * padding as named fields; C++ asserts sizes and offsets. Times are nanoseconds of CLOCK_MONOTONIC.
 *
 * The kernel adds entries and counts; user space alone removes them, but for searches that are answered
 * and those that the LRU map makes room with.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_CA_UDP_H
#define IOC_EXPORTER_BPF_SHARED_CA_UDP_H

#include "shared/ca_tap.h"
#include "shared/ca_udp_parser.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Key of ca_search_clients. */
struct iocx_ca_search_client {
	struct iocx_ca_address address;
	__u32 net; /* number of the network namespace that saw it */
};

/* Value of ca_search_clients. */
struct iocx_ca_search_count {
	__u64 requests; /* names asked for */
	__u64 last_ns;
};

/* Key of ca_searches: one channel that one client looks for. */
struct iocx_ca_search_key {
	struct iocx_ca_address client;
	__u32 net;
	__u32 cid;
	__u16 port; /* of the client, host byte order */
	__u16 pad;
};

/* Value of ca_searches. */
struct iocx_ca_search {
	__u64 requests;
	__u64 first_ns;
	__u64 last_ns;
	char name[IOCX_CA_SEARCHED_NAME]; /* zeros behind its end; may come from anybody */
};

/* Key of ca_beacons: who says that it is up. */
struct iocx_ca_beacon_key {
	struct iocx_ca_address server;
	__u32 net;
	__u16 port; /* TCP */
	__u16 pad;
};

/* Value of ca_beacons. */
struct iocx_ca_beacon {
	__u64 beacons;   /* datagrams */
	__u64 anomalies; /* their number was neither the last one's nor the next */
	__u64 last_ns;
	__u32 sequence;  /* the last one's */
	__u32 pad;
};

/*
 * Key of ca_lower_devices: devices whose packets pass again on the device that they belong to, such as
 * ports of a bridge.
 */
struct iocx_ca_device {
	__u32 net;
	__u32 ifindex;
};

/* Index into the per-CPU array ca_udp_drops. */
#define IOCX_CA_UDP_DROP_LIST(ROW)                                           \
	/* requests of clients for which there was no room */                \
	ROW(IOCX_CA_UDP_DROP_CLIENTS_FULL, "clients_full")                   \
	/* requests for names longer than what is kept */                    \
	ROW(IOCX_CA_UDP_DROP_NAME_CUT, "name_cut")                           \
	/* beacons of servers for which there was no room */                 \
	ROW(IOCX_CA_UDP_DROP_BEACONS_FULL, "beacons_full")                   \
	/* servers that cannot be watched: no room for them or their port */ \
	ROW(IOCX_CA_UDP_DROP_SERVERS_FULL, "servers_full")                   \
	/* datagrams that are cut off, or no Channel Access */               \
	ROW(IOCX_CA_UDP_DROP_NOT_PARSED, "not_parsed")                       \
	/* datagrams with more messages than one run may read */             \
	ROW(IOCX_CA_UDP_DROP_TOO_LONG, "datagram_too_long")
IOCX_LABELLED_ENUM(iocx_ca_udp_drop, IOCX_CA_UDP_DROP_LIST, IOCX_CA_UDP_DROPS)

/* Counters behind those, which tell user space how many searches were evicted. */
enum iocx_ca_udp_counter {
	IOCX_CA_UDP_SEARCHES_ADDED = IOCX_CA_UDP_DROPS,
	IOCX_CA_UDP_SEARCHES_REMOVED,
	IOCX_CA_UDP_COUNTERS
};

#ifdef __cplusplus
}
#endif

#endif
