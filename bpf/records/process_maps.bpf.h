/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* The maps and settings of records/process.bpf.c. User space sets the sizes that are 1 here before it loads. */
#ifndef IOC_EXPORTER_BPF_RECORD_PROCESS_MAPS_H
#define IOC_EXPORTER_BPF_RECORD_PROCESS_MAPS_H

/* Number of elements of record_threads less one: a power of two less one. */
const volatile __u32 thread_mask = 0;

/* Optional: a constant at load time, so that it costs nothing while it is off. */
const volatile __u32 cfg_causes = 0; /* each record's causes */

/* User space reads the counts without system calls. */
MAPPED_ARRAY(record_threads, 1, struct iocx_thread); /* tid & thread_mask */

/* Which thread owns an element of record_threads: the first that inserts itself here, atomically. */
MAP(record_thread_owners, HASH, 1, __u32, __u64); /* index into record_threads: tgid << 32 | tid */

MAP(record_threads_overflow, HASH, 1, __u64, struct iocx_thread); /* tgid << 32 | tid */

MAP(scan_names, HASH, IOCX_MAX_SCAN_NAMES, struct iocx_scan_name, __u8);

MAP(ioc_by_tgid, HASH, IOCX_MAX_IOCS, __u32, __u32); /* tgid: slot */

MAP(ioc_config, ARRAY, IOCX_MAX_IOCS, __u32, struct iocx_ioc_config); /* slot */

/*
 * Each IOC has a map of its own, for as many records as its database has. Where user space lets it (BPF_F_NO_PREALLOC),
 * a record takes memory when it is processed for the first time. The map is freed as a whole when the IOC ends.
 */
struct records_of_ioc {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64); /* struct dbCommon * */
	__type(value, struct iocx_record_stats);
} ioc_records_template SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, IOCX_MAX_IOCS);
	__type(key, __u32); /* slot */
	__array(values, struct records_of_ioc);
} ioc_records SEC(".maps") = {
	.values = {[0] = &ioc_records_template},
};

MAPPED_ARRAY(record_rooms, IOCX_RECORD_ROOMS, struct iocx_room);

MAP(record_drops, PERCPU_ARRAY, IOCX_RECORD_DROPS, __u32, __u64); /* enum iocx_record_drop */

/* The entries of a record are written under its lock, so that the counts need no atomics. */
MAP(record_causes, HASH, 1, struct iocx_cause_key, __u64);

MAPPED_ARRAY(ioc_asynchronous, IOCX_MAX_IOCS, struct iocx_asynchronous); /* slot */

/* Where calls return to that others have a return probe on: one address in each process (the trampoline of uretprobes). */
struct iocx_trampoline {
	__u64 address;
	__u32 generation; /* of the IOC where it was seen; of no use to another generation */
	__u32 pad;
};

MAP(ioc_trampolines, ARRAY, IOCX_MAX_IOCS, __u32, struct iocx_trampoline); /* slot */

/* Where the functions of an IOC end, at slot * IOCX_ENDING_FUNCTIONS + enum iocx_ending_function. */
MAP(function_ends, ARRAY, IOCX_MAX_IOCS *IOCX_ENDING_FUNCTIONS, __u32, struct iocx_function_ends);

/* Zeroes, to copy for a new thread and a new record: neither fits on the BPF stack. Never written. */
MAP(zero_thread, ARRAY, 1, __u32, struct iocx_thread);

MAP(zero_stats, ARRAY, 1, __u32, struct iocx_record_stats);

#endif
