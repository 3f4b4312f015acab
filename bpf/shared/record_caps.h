/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Holders of entries in the tables that the IOCs share: IOCs. shared/caps.h has the rule. */
#ifndef IOC_EXPORTER_BPF_SHARED_RECORD_CAPS_H
#define IOC_EXPORTER_BPF_SHARED_RECORD_CAPS_H

#include <linux/types.h>

#include "shared/caps.h"

/* The tables. */
enum iocx_record_table {
	IOCX_HELD_THREADS,          /* record_thread_owners */
	IOCX_HELD_OVERFLOW_THREADS, /* record_threads_overflow */
	IOCX_HELD_CAUSES,
	IOCX_HELD_SCAN_LISTS,
	IOCX_HELD_LINES /* line_chunks */
};

#define IOCX_RECORD_HOLDERS 4096u

/* Index of an IOC. */
static inline __attribute__((always_inline)) __u32 iocx_holder_of(__u32 generation)
{
	return IOCX_HELD_FIRST + generation % (IOCX_RECORD_HOLDERS - IOCX_HELD_FIRST);
}

#endif
