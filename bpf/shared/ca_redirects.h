/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Connections whose packets do not carry the address and port that the server's socket has, since the host redirects
 * them (netfilter's DNAT and REDIRECT): the part of the wire format between bpf/ca/tap.bpf.c and src/ca/redirects.cpp.
 *
 * User space sees in the kernel's list of sockets that a server has a connection of which no packet is seen. It enters
 * the client's end into ca_sought, and watches the client's port: the program notes what that client is sent from.
 * That end goes to ca_redirects, and from then on the program takes it for the server's.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_CA_REDIRECTS_H
#define IOC_EXPORTER_BPF_SHARED_CA_REDIRECTS_H

#include <linux/types.h>

#include "shared/ca_servers.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * One end of a connection. Key of ca_sought: a client's; `loopback` is 0. Its value: what packets to that client come
 * from; all 0 until there is one. Key of ca_redirects: an end that packets name in place of the server's.
 */
struct iocx_ca_end {
	struct iocx_ca_address address;
	__u16 port;
	__u16 loopback; /* 1: packets on the loopback device, which are redirected elsewhere than others */
	__u32 net;      /* number of the network namespace */
};

/* Value of ca_redirects: the server's own end. */
struct iocx_ca_redirect {
	struct iocx_ca_address address;
	__u64 used_ns; /* when it was found last, to the second; CLOCK_MONOTONIC */
	__u16 port;
	__u16 pad[3];
};

#define IOCX_CA_SOUGHT 64
#define IOCX_CA_REDIRECTS 256

#ifdef __cplusplus
}
#endif

#endif
