/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The wire format between bpf/puts/pva_witness.bpf.c and src/pva/witness*.cpp. Fixed-width types, padding as named fields;
 * C++ asserts sizes and offsets.
 *
 * What a client writes to a PV of an IOC is counted under what the server calls the two: objects of the server are
 * freed and their addresses used again, so that none of them is a key. The program adds entries and never takes one
 * out. User space gives an IOC another generation first, and takes out what has the former one some time later, so
 * that no entry goes while a program still adds to it.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_PVA_WITNESS_H
#define IOC_EXPORTER_BPF_SHARED_PVA_WITNESS_H

#include <linux/types.h>

#include "shared/labelled_enum.h"
#include "shared/shares.h"

#ifdef __cplusplus
extern "C" {
#endif

/* IOCs that are witnessed at one time, and entries of all. */
#define IOCX_PVA_IOCS 1024
#define IOCX_PVA_PUTS 16384

#define IOCX_PVA_NAME 152
#define IOCX_PVA_USER 64
#define IOCX_PVA_METHOD 16
#define IOCX_PVA_PEER 56

/* Value of pva_iocs, by process id. */
struct iocx_pva_ioc {
	__u32 generation; /* never used twice */
	__u32 holder;     /* of this life of the IOC, index into pva_holders */
	__u32 user;       /* of who runs it, the same */
	__u32 pad;
};

/* Key of pva_puts. Texts end in a zero byte, and zero bytes follow. */
struct iocx_pva_key {
	__u32 generation;
	__u32 pad;
	char name[IOCX_PVA_NAME];     /* as the client asked for it: of a record's field, or of a group */
	char user[IOCX_PVA_USER];     /* as the client says */
	char method[IOCX_PVA_METHOD]; /* how, as QSRV 2 knows: "ca", "anonymous"; QSRV 1 has it in `user` */
	char peer[IOCX_PVA_PEER];     /* address, of QSRV 2 without the port */
};

enum iocx_pva_count {
	IOCX_PVA_ASKED,   /* all puts */
	IOCX_PVA_REFUSED, /* of those, by the IOC's access rules */
	IOCX_PVA_FAILED,  /* of those, for another reason */
	IOCX_PVA_COUNTS
};

struct iocx_pva_counts {
	__u64 counts[IOCX_PVA_COUNTS];
	__u64 last_put; /* when the last was asked for, CLOCK_MONOTONIC */
};

/* Value of pva_puts. */
struct iocx_pva_put {
	struct iocx_pva_counts counts;
	/* Who holds this place, index into pva_holders. */
	__u32 holder;
	__u32 user;
	__u32 client;
	__u32 pad;
};

/* Element of pva_holders: how many entries of pva_puts one holds. Mapped into user space. */
struct iocx_pva_holder {
	__u32 added;                 /* by the program */
	__u32 freed;                 /* by user space */
	struct iocx_pva_counts rest; /* of an IOC: puts without an entry */
};

/* Index into pva_holders: all, IOCs, who runs them, and clients, which share buckets by a hash. */
#define IOCX_PVA_HOLDER_ALL 0u
#define IOCX_PVA_HOLDER_IOC 1u
#define IOCX_PVA_HOLDER_USER (IOCX_PVA_HOLDER_IOC + IOCX_PVA_IOCS)
#define IOCX_PVA_USER_BUCKETS 1024u
#define IOCX_PVA_HOLDER_CLIENT (IOCX_PVA_HOLDER_USER + IOCX_PVA_USER_BUCKETS)
#define IOCX_PVA_CLIENT_BUCKETS 4096u
#define IOCX_PVA_HOLDERS (IOCX_PVA_HOLDER_CLIENT + IOCX_PVA_CLIENT_BUCKETS)

/*
 * Whether there is one more place for a client of an IOC: shares.h has the rule for the IOC and who runs it. No IOC has
 * more than a quarter of all, and a client of it what the same rule leaves him of that.
 */
static inline __attribute__((always_inline)) int iocx_pva_may(__u32 all, __u32 user, __u32 ioc, __u32 client)
{
	const __s32 left = IOCX_PVA_PUTS - (__s32)all, of_ioc = IOCX_PVA_PUTS / 4 - (__s32)ioc;

	return left > 0 && of_ioc > 0 && iocx_one_may(ioc, left, IOCX_PVA_PUTS / 2) &&
	       iocx_group_may(user, ioc, left, IOCX_PVA_PUTS / 2) && iocx_one_may(client, of_ioc, IOCX_PVA_PUTS / 8);
}

/* Index into the per-CPU array pva_drops. */
#define IOCX_PVA_DROP_LIST(ROW)                                                              \
	/* puts that are counted for their IOC only: no room for who wrote what */           \
	ROW(IOCX_PVA_DROP_FULL, "pva_full", LOST)                                            \
	/* puts without a client, or for their IOC only: its memory did not say who wrote */ \
	ROW(IOCX_PVA_DROP_UNREADABLE, "pva_unreadable", LOST)                                \
	/* puts that are counted under a name that is only the beginning */                  \
	ROW(IOCX_PVA_DROP_CUT, "pva_cut", KEPT)
IOCX_DROP_ENUM(iocx_pva_drop, IOCX_PVA_DROP_LIST, IOCX_PVA_DROPS)

#ifdef __cplusplus
}
#endif

#endif
