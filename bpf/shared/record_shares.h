/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Who holds how much of the tables that the IOCs share, so that nobody fills one that others need: IOCs, in groups by
 * the user who runs them. shared/shares.h has the rule.
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
#define IOCX_RECORD_SHARES 8 /* a power of two */

/* Element of record_shares: how much of each table is held. Mapped into user space; written by atomic additions. */
struct iocx_record_share {
	__u32 held[IOCX_RECORD_SHARES];
};

/* Index into record_shares. From IOCX_SHARE_FREE on user space gives one to each IOC and one to each user. */
#define IOCX_SHARE_ALL 0u /* of all together */
#define IOCX_SHARE_FREE 1u
#define IOCX_SHARE_BUCKETS 4096u /* an IOC and its user each; the others of those who are gone */

/* Who holds an entry, as indices into record_shares. All zeros: nobody. */
struct iocx_holder {
	__u16 ioc;
	__u16 user;
};

/* Whether an IOC that holds `own`, and its user `theirs`, may have one more of `room` places, of which `all` are taken. */
static inline __attribute__((always_inline)) int iocx_holder_may(__u32 room, __u32 all, __u32 own, __u32 theirs)
{
	const __s32 left = (__s32)(room - all);

	return left > 0 && iocx_one_may(own, left, room / 2) && iocx_group_may(theirs, own, left, room / 2);
}

#endif
