/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* The maps of bpf/records/process.bpf.c. Sizes that user space sets before it loads are given as 1. */
#ifndef IOC_EXPORTER_BPF_RECORD_PROCESS_MAPS_H
#define IOC_EXPORTER_BPF_RECORD_PROCESS_MAPS_H

/* Number of places in record_threads less one; a power of two less one. Set before loading. */
const volatile __u32 thread_mask = 0;

/*
 * Session probes only: calls of one record a second that are timed, about; 0 = all. A record that was not
 * timed for so long is quiet: its next call is.
 */
const volatile __u32 cfg_timed_rate = 0;
const volatile __u64 cfg_quiet_ns = 0;

/* What else is counted of each processing. Set before loading: what is off costs nothing. */
const volatile __u32 cfg_causes = 0; /* each record's causes */
const volatile __u32 cfg_links = 0;  /* links from record to record */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* user space reads the counts without system calls */
	__uint(max_entries, 1);
	__type(key, __u32); /* tid & thread_mask */
	__type(value, struct iocx_thread);
} record_threads SEC(".maps");

/* Who may use a place in record_threads: the first that inserts here, which is atomic. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32); /* index into record_threads */
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
	__uint(max_entries, IOCX_MAX_IOCS);
	__type(key, __u32); /* tgid */
	__type(value, __u32); /* slot */
} ioc_by_tgid SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOCX_MAX_IOCS);
	__type(key, __u32); /* slot */
	__type(value, struct iocx_ioc_config);
} ioc_config SEC(".maps");

/* An IOC's own map, as large as its database: it is freed as a whole when the IOC ends. */
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
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, IOCX_RECORD_DROPS);
	__type(key, __u32); /* enum iocx_record_drop */
	__type(value, __u64);
} record_drops SEC(".maps");

/* A record's entries are written under its lock, so their counts need no atomics. */
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

/* 1: a record of the IOC was seen to complete later than its dbProcess returned. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOCX_MAX_IOCS);
	__type(key, __u32); /* slot */
	__type(value, __u8);
} ioc_asynchronous SEC(".maps");

/* Where the kernel lets calls with a return probe return to: one address in each process. */
struct iocx_trampoline {
	__u64 address;
	__u32 generation; /* of the IOC that it was seen in; another one's is not known yet */
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOCX_MAX_IOCS);
	__type(key, __u32); /* slot */
	__type(value, struct iocx_trampoline);
} ioc_trampolines SEC(".maps");

/* Zeroes to start a new thread and a new record from: neither fits on the BPF stack. Never written. */
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
