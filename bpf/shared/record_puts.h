/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The wire format between bpf/records/puts.bpf.h and src/records/probe/tables.cpp.
 * Fixed-width types, padding as named fields; C++ asserts sizes and offsets.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_RECORD_PUTS_H
#define IOC_EXPORTER_BPF_SHARED_RECORD_PUTS_H

#include <linux/types.h>

#include "shared/labelled_enum.h"
#include "shared/record_caps.h"

/* Source of a write to a record: index into iocx_record_stats.puts. */
#define IOCX_PUT_SOURCE_LIST(ROW)                                                           \
	/* a circuit of the CA server: WRITE and WRITE_NOTIFY */                            \
	ROW(IOCX_PUT_CA, "ca")                                                              \
	/* the PVA server: QSRV 1 and QSRV 2 */                                             \
	ROW(IOCX_PUT_PVA, "pva")                                                            \
	/* a link of a record of this IOC, also one by Channel Access */                    \
	ROW(IOCX_PUT_LINK, "link")                                                          \
	/* dbpf and dbtpn */                                                                \
	ROW(IOCX_PUT_SHELL, "shell")                                                        \
	/* a client of Channel Access in the IOC itself: the sequencer, sscan, swait */     \
	ROW(IOCX_PUT_INSIDE, "inside")                                                      \
	/* device and record support, drivers, boot-time restore, threads without a name */ \
	ROW(IOCX_PUT_OTHER, "other")
IOCX_LABELLED_ENUM(iocx_put_source, IOCX_PUT_SOURCE_LIST, IOCX_PUT_SOURCES)

/*
 * Element of put_config, at the slot of the IOC. Places in the code are given as distances from the function with the
 * probe, modulo 2^64, since the loader puts a library anywhere. Size 0: the library has no such code.
 */
struct iocx_put_config {
	__u64 link_from;       /* from where dbPut is probed to the function that writes through a database link */
	__u64 field_from;      /* from where dbCanSetLink is probed to dbPutField */
	__u64 field_link_from; /* the same to dbPutFieldLink, where the compiler did not inline it */
	__u32 link_size;       /* bytes of code */
	__u32 field_size;
	__u32 field_link_size;
	__u16 ppn;            /* offset of PPN in struct dbCommon; 0: not known */
	__u16 notify_address; /* offset in struct processNotify of the pointer to the structure with the DBADDR */
	__u16 address_in;     /* offset of the DBADDR in that structure */
	__u16 disp;           /* offset of DISP in struct dbCommon */
	__u32 notifies;       /* which of put_notifies its puts with callback are in */
};

/* A call that a thread may be in. */
struct iocx_noted_call {
	__u64 sp;         /* stack pointer at its entry; 0: not in it */
	__u64 returns_to; /* as iocx_frame.returns_to */
	__u32 epoch;      /* iocx_ioc_config.epoch at that time */
	__u32 pad;
};

/* Part of iocx_thread. */
struct iocx_thread_puts {
	struct iocx_noted_call shell;  /* dbpf */
	struct iocx_noted_call inside; /* dbChannelIO::write */
	__u64 written; /* while traces are on: the record that this writes to and has not processed yet; 0: not known */
	__u64 link_sp; /* stack pointer at the entry of dbPutLink; only used where no symbol shows writes by link */
	__u64 link_buffer; /* address of the value that dbPutLink was called with */
};

/* Before Base 3.16: DBF_INLINK and DBF_FWDLINK (dbFldTypes.h), and the offset of the field type in dbFldDes. */
#define IOCX_DBF_INLINK_BEFORE_3_16 12
#define IOCX_DBF_FWDLINK_BEFORE_3_16 14
#define IOCX_FLDDES_TYPE 36

/* A put with callback that has begun, by its struct processNotify. */
struct iocx_notify_key {
	__u64 notify; /* struct processNotify *, in 3.14 struct putNotify * */
	__u32 tgid;
	__u32 pad;
};
struct iocx_notify {
	__u64 address; /* the DBADDR * that dbPut will be called with */
	__u32 source;  /* enum iocx_put_source */
	__u32 pad;
};

/* Puts with callback at the same time, in each table, and tables: an IOC has one by its slot. */
#define IOCX_MAX_NOTIFIES 2048
#define IOCX_NOTIFY_TABLES 8

#endif
