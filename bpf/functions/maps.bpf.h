/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* The maps of functions/functions.bpf.c. User space sets the sizes that are 1 here before it loads. */
#ifndef IOC_EXPORTER_BPF_FUNCTIONS_MAPS_H
#define IOC_EXPORTER_BPF_FUNCTIONS_MAPS_H

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct iocx_function_place_key);
	__type(value, struct iocx_function_place);
} function_places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOCX_FUNCTIONS);
	__type(key, __u32);
	__type(value, struct iocx_function);
} functions SEC(".maps");

/* The series of labels, by struct iocx_function_key or, where the labels are short, by the first bytes of it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct iocx_function_few_key);
	__type(value, __u32);
} series_by_few SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct iocx_function_key);
	__type(value, __u32);
} series_by_key SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct iocx_function_series);
} function_series SEC(".maps");

/* At the same index; one element where nothing is timed. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct iocx_function_times);
} function_times SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1);
	__type(value, __u32);
} free_series SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct iocx_function_result_key);
	__type(value, struct iocx_function_result);
} function_results SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct iocx_function_thread_key);
	__type(value, struct iocx_function_thread);
} function_threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct iocx_function_start_key);
	__type(value, struct iocx_function_start);
} function_starts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct iocx_function_pointer_key);
	__type(value, struct iocx_holder);
} function_pointers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, IOCX_RECORD_HOLDERS);
	__type(key, __u32);
	__type(value, struct iocx_share);
} function_shares SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, IOCX_FUNCTION_DROPS);
	__type(key, __u32);
	__type(value, __u64);
} function_drops SEC(".maps");

/* To copy for a new thread; never written. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct iocx_function_thread);
} no_calls SEC(".maps");

static __always_inline void count_drop(enum iocx_function_drop reason)
{
	add_to_counter(&function_drops, reason, 1);
}

#endif
