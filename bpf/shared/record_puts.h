/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * What bpf/records/puts.bpf.h and src/probes/record_puts.cpp tell each other: a wire format.
 * Fixed-width types, padding as named fields; C++ asserts sizes and offsets.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_RECORD_PUTS_H
#define IOC_EXPORTER_BPF_SHARED_RECORD_PUTS_H

#include <linux/types.h>

#include "shared/labelled_enum.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Who wrote to a record: index into iocx_record_stats.puts. */
#define IOCX_PUT_SOURCE_LIST(ROW)                                                           \
	/* a circuit of the CA server: WRITE and WRITE_NOTIFY */                            \
	ROW(IOCX_PUT_CA, "ca")                                                              \
	/* the PVA server: QSRV 1 and QSRV 2 */                                             \
	ROW(IOCX_PUT_PVA, "pva")                                                            \
	/* a database link of a record of this IOC */                                       \
	ROW(IOCX_PUT_LINK, "link")                                                          \
	/* dbpf and dbtpn */                                                                \
	ROW(IOCX_PUT_SHELL, "shell")                                                        \
	/* device and record support, drivers, boot-time restore, threads without a name */ \
	ROW(IOCX_PUT_OTHER, "other")
IOCX_LABELLED_ENUM(iocx_put_source, IOCX_PUT_SOURCE_LIST, IOCX_PUT_SOURCES)

/*
 * Of one IOC, at index `slot` of put_config. Code is told by its distance from the function that was hit,
 * modulo 2^64, since an IOC's library lies wherever its loader put it. A size of 0: there is no such code.
 */
struct iocx_put_config {
	__u64 link_from;       /* from dbPut to the function that puts through a database link */
	__u64 field_from;      /* from dbCanSetLink to dbPutField */
	__u64 field_link_from; /* from dbCanSetLink to dbPutFieldLink, where the compiler kept it apart */
	__u32 link_size;       /* bytes of code */
	__u32 field_size;
	__u32 field_link_size;
	__u16 ppn;             /* offset of PPN in struct dbCommon; 0: not known */
	__u16 notify_address;  /* offset in struct processNotify of the pointer to what holds the DBADDR */
	__u16 address_in;      /* offset of the DBADDR in what that pointer leads to */
	__u16 disp;            /* offset of DISP in struct dbCommon */
	__u32 pad;
};

/* What a thread is in the middle of; part of iocx_thread. 0: nothing. */
struct iocx_thread_puts {
	__u64 shell_sp;     /* stack pointer at the entry of dbpf */
	__u32 shell_epoch;  /* iocx_ioc_config.epoch at that time */
	__u32 pad;
	__u64 link_sp;      /* stack pointer at the entry of dbPutLink, where only its entry can tell a put by link */
	__u64 link_buffer;  /* and the value that it was given */
};

/* Before Base 3.16: DBF_INLINK and DBF_FWDLINK (dbFldTypes.h), and where dbFldDes has a field's type. */
#define IOCX_DBF_INLINK_BEFORE_3_16 12
#define IOCX_DBF_FWDLINK_BEFORE_3_16 14
#define IOCX_FLDDES_TYPE 36

/* A put with callback that was handed to the database, by its struct processNotify. */
struct iocx_notify_key {
	__u64 notify; /* struct processNotify *, in 3.14 struct putNotify * */
	__u32 tgid;
	__u32 pad;
};
struct iocx_notify {
	__u64 address; /* DBADDR * that it will put through */
	__u32 tid;     /* of the thread that asked for it */
	__u32 source;  /* enum iocx_put_source */
};

/* Puts of threads that serve one client each. */
struct iocx_put_client_key {
	__u64 record; /* struct dbCommon * */
	__u32 slot;
	__u32 tid;
	__u32 source; /* enum iocx_put_source */
	__u32 pad;
};

/* Index into the per-CPU array `put_drops`. */
#define IOCX_PUT_DROP_LIST(ROW)                                                  \
	/* no room for another client of a record: counted without its client */ \
	ROW(IOCX_PUT_DROP_CLIENTS_FULL, "put_clients_full")                      \
	/* who asked for a put with callback is not known: counted as `other` */ \
	ROW(IOCX_PUT_DROP_NOTIFY_UNKNOWN, "put_notify_unknown")                  \
	/* the record's address could not be read: not counted */                \
	ROW(IOCX_PUT_DROP_READ, "put_read_failed")
IOCX_LABELLED_ENUM(iocx_put_drop, IOCX_PUT_DROP_LIST, IOCX_PUT_DROPS)

#define IOCX_MAX_NOTIFIES 4096     /* puts with callback that wait at the same time */
#define IOCX_MAX_PUT_CLIENTS 8192  /* pairs of record and client */

#ifdef __cplusplus
}
#endif

#endif
