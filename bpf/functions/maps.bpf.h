/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* The maps of functions/functions.bpf.c. */
#ifndef IOC_EXPORTER_BPF_FUNCTIONS_MAPS_H
#define IOC_EXPORTER_BPF_FUNCTIONS_MAPS_H

MAP(function_places, HASH, IOCX_FUNCTION_PLACES, struct iocx_function_place_key, struct iocx_function_place);
MAP(functions, ARRAY, IOCX_FUNCTIONS, __u32, struct iocx_function);
/* The series of labels: where they are short, and where they are long. */
MAP(series_by_few, HASH, IOCX_FUNCTION_SERIES, struct iocx_function_few_key, __u32);
MAP(series_by_key, HASH, IOCX_FUNCTION_SERIES, struct iocx_function_key, __u32);
MAPPED_ARRAY(function_series, IOCX_FUNCTION_SERIES, struct iocx_function_series);
MAPPED_ARRAY(function_times, IOCX_FUNCTION_SERIES, struct iocx_function_times); /* at the same index */
MAP(function_results, HASH, IOCX_FUNCTION_RESULTS, struct iocx_function_result_key, struct iocx_function_result);
MAP(function_threads, HASH, IOCX_FUNCTION_THREADS, struct iocx_function_thread_key, struct iocx_function_thread);
MAP(function_starts, HASH, IOCX_FUNCTION_STARTS, struct iocx_function_start_key, struct iocx_function_start);
MAP(function_pointers, HASH, IOCX_FUNCTION_POINTERS, struct iocx_function_pointer_key, __u32);
MAPPED_ARRAY(function_held, IOCX_RECORD_HOLDERS, struct iocx_held);
MAP(function_drops, PERCPU_ARRAY, IOCX_FUNCTION_DROPS, __u32, __u64);
MAP(no_calls, ARRAY, 1, __u32, struct iocx_function_thread); /* to copy for a new thread; never written */

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, IOCX_FUNCTION_SERIES);
	__type(value, __u32);
} free_series SEC(".maps");

static __always_inline int count_drop(enum iocx_function_drop reason)
{
	add_to_counter(&function_drops, reason, 1);
	return 0;
}

#endif
