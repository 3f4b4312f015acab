/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* The maps of functions/functions.bpf.c. User space sets the sizes that are 1 here before it loads. */
#ifndef IOC_EXPORTER_BPF_FUNCTIONS_MAPS_H
#define IOC_EXPORTER_BPF_FUNCTIONS_MAPS_H

#define MAP(name, kind, key_type, value_type)      \
	struct {                                   \
		__uint(type, BPF_MAP_TYPE_##kind); \
		__uint(max_entries, 1);            \
		__type(key, key_type);             \
		__type(value, value_type);         \
	} name SEC(".maps")
/* Read and written by user space in place. */
#define MAPPED_ARRAY(name, value_type)             \
	struct {                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);  \
		__uint(map_flags, BPF_F_MMAPABLE); \
		__uint(max_entries, 1);            \
		__type(key, __u32);                \
		__type(value, value_type);         \
	} name SEC(".maps")

MAP(function_places, HASH, struct iocx_function_place_key, struct iocx_function_place);
MAP(functions, ARRAY, __u32, struct iocx_function);
/* The series of labels: where they are short, and where they are long. */
MAP(series_by_few, HASH, struct iocx_function_few_key, __u32);
MAP(series_by_key, HASH, struct iocx_function_key, __u32);
MAPPED_ARRAY(function_series, struct iocx_function_series);
MAPPED_ARRAY(function_times, struct iocx_function_times); /* at the same index */
MAP(function_results, HASH, struct iocx_function_result_key, struct iocx_function_result);
MAP(function_threads, HASH, struct iocx_function_thread_key, struct iocx_function_thread);
MAP(function_starts, HASH, struct iocx_function_start_key, struct iocx_function_start);
MAP(function_pointers, HASH, struct iocx_function_pointer_key, struct iocx_holder);
MAPPED_ARRAY(function_shares, struct iocx_share);
MAP(function_drops, PERCPU_ARRAY, __u32, __u64);
MAP(no_calls, ARRAY, __u32, struct iocx_function_thread); /* to copy for a new thread; never written */

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1);
	__type(value, __u32);
} free_series SEC(".maps");

static __always_inline int count_drop(enum iocx_function_drop reason)
{
	add_to_counter(&function_drops, reason, 1);
	return 0;
}

#endif
