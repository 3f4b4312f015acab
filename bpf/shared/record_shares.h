/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Holders of places in the tables that the IOCs share, so that no IOC fills one that others need: IOCs, in groups by
 * their user. shared/shares.h has the rule.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_RECORD_SHARES_H
#define IOC_EXPORTER_BPF_SHARED_RECORD_SHARES_H

#include <linux/types.h>

#include "shared/shares.h"

/* The tables. */
enum iocx_record_share_of {
	IOCX_SHARE_THREADS,          /* record_thread_owners */
	IOCX_SHARE_OVERFLOW_THREADS, /* record_threads_overflow */
	IOCX_SHARE_CAUSES,
	IOCX_SHARE_LINKS,
	IOCX_SHARE_SCAN_LISTS,
	IOCX_SHARE_LINES /* line_chunks */
};

/* Indices of holders: IOCs by generation, and users by number. */
#define IOCX_RECORD_HOLDERS 4096u
#define IOCX_RECORD_HOLDER_USERS 1024u
#define IOCX_RECORD_HOLDER_IOCS (IOCX_RECORD_HOLDERS - IOCX_RECORD_HOLDER_USERS - IOCX_SHARE_FIRST)

/* Holder of an entry. All zeros: nobody. */
struct iocx_holder {
	__u16 ioc;
	__u16 user;
};

static inline __attribute__((always_inline)) struct iocx_holder iocx_holder_of(__u32 generation, __u32 user)
{
	struct iocx_holder holder;

	holder.ioc = (__u16)(IOCX_SHARE_FIRST + generation % IOCX_RECORD_HOLDER_IOCS);
	holder.user = (__u16)(IOCX_SHARE_FIRST + IOCX_RECORD_HOLDER_IOCS + user % IOCX_RECORD_HOLDER_USERS);
	return holder;
}

#endif
