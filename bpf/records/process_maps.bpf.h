/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* The maps and settings of records/process.bpf.c. User space sets the sizes that are 1 here before it loads. */
#ifndef IOC_EXPORTER_BPF_RECORD_PROCESS_MAPS_H
#define IOC_EXPORTER_BPF_RECORD_PROCESS_MAPS_H

/* Number of elements of record_threads less one: a power of two less one. */
const volatile __u32 thread_mask = 0;

/* Optional counts of each processing. Constants at load time: what is off costs nothing. */
const volatile __u32 cfg_causes = 0; /* each record's causes */
const volatile __u32 cfg_links = 0;  /* links from record to record */

/* Attachments have a cookie that says which of IOCX_ATTACH_* they are: one program does for both. */
const volatile __u32 cfg_cookies = 0;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* user space reads the counts without system calls */
	__uint(max_entries, 1);
	__type(key, __u32); /* tid & thread_mask */
	__type(value, struct iocx_thread);
} record_threads SEC(".maps");

/* Which thread owns an element of record_threads: the first that inserts itself here, atomically. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);   /* index into record_threads */
	__type(value, __u64); /* tgid << 32 | tid */
} record_thread_owners SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64); /* tgid << 32 | tid */
	__type(value, struct iocx_thread);
} record_threads_overflow SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IOCX_MAX_SCAN_NAMES);
	__type(key, struct iocx_scan_name);
	__type(value, __u8);
} scan_names SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IOCX_MAX_IOCS);
	__type(key, __u32);   /* tgid */
	__type(value, __u32); /* slot */
} ioc_by_tgid SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOCX_MAX_IOCS);
	__type(key, __u32); /* slot */
	__type(value, struct iocx_ioc_config);
} ioc_config SEC(".maps");

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

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, IOCX_RECORD_ROOMS);
	__type(key, __u32);
	__type(value, struct iocx_room);
} record_rooms SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, IOCX_RECORD_DROPS);
	__type(key, __u32); /* enum iocx_record_drop */
	__type(value, __u64);
} record_drops SEC(".maps");

/* The entries of a record are written under its lock, so that the counts need no atomics. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct iocx_cause_key);
	__type(value, __u64);
} record_causes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct iocx_link_key);
	__type(value, __u64);
} record_links SEC(".maps");

/* Processings by threads that have no stack. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOCX_MAX_IOCS);
	__type(key, __u32); /* slot */
	__type(value, __u64);
} threadless SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, IOCX_MAX_IOCS);
	__type(key, __u32); /* slot */
	__type(value, struct iocx_asynchronous);
} ioc_asynchronous SEC(".maps");

/* Where calls return to that others have a return probe on: one address in each process (the trampoline of uretprobes). */
struct iocx_trampoline {
	__u64 address;
	__u32 generation; /* of the IOC where it was seen; of no use to another generation */
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOCX_MAX_IOCS);
	__type(key, __u32); /* slot */
	__type(value, struct iocx_trampoline);
} ioc_trampolines SEC(".maps");

/* Where the functions of an IOC end, at slot * IOCX_ENDING_FUNCTIONS + enum iocx_ending_function. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOCX_MAX_IOCS *IOCX_ENDING_FUNCTIONS);
	__type(key, __u32);
	__type(value, struct iocx_function_ends);
} function_ends SEC(".maps");

/* Zeroes, to copy for a new thread and a new record: neither fits on the BPF stack. Never written. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct iocx_thread);
} zero_thread SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct iocx_record_stats);
} zero_stats SEC(".maps");

#endif
