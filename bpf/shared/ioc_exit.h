/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* The wire format between bpf/iocs/exit.bpf.c and src/iocs/health/exit_watch.cpp. */
#ifndef IOC_EXPORTER_BPF_SHARED_IOC_EXIT_H
#define IOC_EXPORTER_BPF_SHARED_IOC_EXIT_H

#include <linux/types.h>

/* Processes that are watched at one time: IOCs and other servers, and those that have ended just now. */
#define IOCX_EXIT_PROCESSES 4096

/* Value of ioc_exits, by process id. */
struct iocx_ioc_exit {
	__u32 ended;    /* not 0: the others are set */
	__s32 status;   /* as wait(2) has it */
	__u64 ended_ns; /* CLOCK_MONOTONIC, before the kernel closes its sockets */
};

#endif
