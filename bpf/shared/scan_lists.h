/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* The wire format between bpf/records/scan_lists.bpf.h and src/records/probe/threads.cpp. */
#ifndef IOC_EXPORTER_BPF_SHARED_SCAN_LISTS_H
#define IOC_EXPORTER_BPF_SHARED_SCAN_LISTS_H

#include "shared/histogram.h"
#include "shared/record_process.h"

/* A periodic scan list, by its thread (tgid << 32 | tid). Only that thread writes it. */
struct iocx_scan_list {
	__u32 slot;
	__u32 holder;             /* as iocx_thread has it; 0: it is being made */
	char comm[IOCX_COMM_LEN]; /* "scan-0.1" */
	__u64 sp;                 /* stack pointer of the scan under way */
	__u64 start_ns;           /* when it began, CLOCK_MONOTONIC; 0: none is under way */
	__u64 end_ns;             /* when the last scan ended; 0: none has */
	__u64 pad;
	__u64 sum_ns;
	__u64 buckets[IOCX_PUT_HIST_SLOTS]; /* scans by duration */
};

#define IOCX_MAX_SCAN_LISTS 4096

#endif
