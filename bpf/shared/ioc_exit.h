/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* The wire format between bpf/iocs/exit.bpf.c and src/iocs/health/exit_watch.cpp. */
#ifndef IOC_EXPORTER_BPF_SHARED_IOC_EXIT_H
#define IOC_EXPORTER_BPF_SHARED_IOC_EXIT_H

#include <linux/types.h>

/* Processes that are watched at one time: IOCs and other servers, and those that have ended just now. */
#define IOCX_EXIT_PROCESSES 4096

/* Classes of threads by their names, as dbScan.c, callback.c, rsrv's caservertask.c and libca (Base 3.15 to 7.0),
 * pvAccessCPP's transports and pvxs' event loops set them. */
enum iocx_thread_class {
	IOCX_THREAD_SCAN,
	IOCX_THREAD_CALLBACK,
	IOCX_THREAD_ONCE,
	IOCX_THREAD_CA,
	IOCX_THREAD_PVA,
	IOCX_THREAD_MAIN, /* a process' first thread, by any name */
	IOCX_THREAD_OTHER,
	IOCX_THREAD_CLASSES,
};

#define IOCX_COMM_SIZE 16 /* TASK_COMM_LEN */

static inline __attribute__((always_inline)) int iocx_starts(const char *comm, const char *text, __u32 size)
{
	for (__u32 i = 0; i < size; i++)
		if (comm[i] != text[i])
			return 0;
	return 1;
}

#define IOCX_STARTS(comm, text) iocx_starts(comm, text, sizeof(text) - 1)

/* `comm` of a thread that is not the first; all its bytes are there. */
static inline __attribute__((always_inline)) __u32 iocx_thread_class_of(const char comm[IOCX_COMM_SIZE])
{
	if (IOCX_STARTS(comm, "scan-"))
		return IOCX_THREAD_SCAN;
	if (IOCX_STARTS(comm, "cbLow") || IOCX_STARTS(comm, "cbMedium") || IOCX_STARTS(comm, "cbHigh"))
		return IOCX_THREAD_CALLBACK;
	if (IOCX_STARTS(comm, "scanOnce"))
		return IOCX_THREAD_ONCE;
	if (IOCX_STARTS(comm, "CAS-") || IOCX_STARTS(comm, "CAC-") || IOCX_STARTS(comm, "dbCaLink"))
		return IOCX_THREAD_CA;
	if (IOCX_STARTS(comm, "PVX") || IOCX_STARTS(comm, "TCP-") || IOCX_STARTS(comm, "UDP-"))
		return IOCX_THREAD_PVA;
	return IOCX_THREAD_OTHER;
}

/* Value of ioc_exits, by process id. */
struct iocx_ioc_exit {
	__u32 ended;                       /* not 0: the others are set */
	__s32 status;                      /* as wait(2) has it */
	__u64 cpu_ns[IOCX_THREAD_CLASSES]; /* of threads that have ended since the process was named */
};

#endif
